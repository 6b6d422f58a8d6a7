// Times in the reader's zone and in UTC.

const pad = (number, digits = 2) => String(number).padStart(digits, "0");
const zoneName = (date) => {
  const part = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(date)
    .find((each) => each.type === "timeZoneName");
  return part ? part.value : "local";
};

export const iso = (ms) => new Date(ms).toISOString();
export const utc = (ms) => iso(ms).replace("T", " ").replace("Z", " UTC");
export const local = (ms) => {
  const date = new Date(ms);
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  const clock = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  return `${day} ${clock}.${pad(date.getMilliseconds(), 3)} ${zoneName(date)}`;
};
export const isLocalUtc = (ms) => new Date(ms).getTimezoneOffset() === 0;
export const utcClock = (ms) => `(${iso(ms).slice(11)})`;
export const both = (ms) => (isLocalUtc(ms) ? utc(ms) : `${local(ms)} ${utcClock(ms)}`);

// The value of a field for a local time, and back; NaN if it is no time.
export const toField = (ms) => {
  const date = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 23);
};
export const fromField = (text) => new Date(text).getTime();
export const fromAddress = (text) => {
  if (!text) return null;
  const ms = /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
};

export const duration = (ms) => {
  const seconds = Math.round(ms / 1000);
  if (ms < 1000) return `${ms} ms`;
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
};

// Round instants for the ticks of an axis, at most eight.
const STEPS = [1, 5, 10, 50, 100, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5,
  432e5, 864e5, 1728e5, 6048e5, 2592e6];
export const ticks = (first, last) => {
  const step = STEPS.find((each) => (last - first) / each <= 8) || 2592e6 * Math.ceil((last - first) / 2592e6 / 8);
  const shift = new Date(first).getTimezoneOffset() * 60_000;
  const found = [];
  let day = "";
  for (let at = Math.ceil((first - shift) / step) * step + shift; at <= last; at += step) {
    const [date, clock] = local(at).split(" ");
    const time = step >= 864e5 ? "" : step >= 6e4 ? clock.slice(0, 5) : step >= 1e3 ? clock.slice(0, 8) : clock;
    found.push({ at, time, day: date === day ? "" : date });
    day = date;
  }
  return found;
};
