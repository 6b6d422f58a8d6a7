// What the console says: values of a view, and when they have changed.
// All addresses are relative: a proxy may serve the page below a path of its own.

export class Problem extends Error {
  constructor(text, status) {
    super(text);
    this.status = status;
  }
}

const GONE = "the console does not answer: is it still running?";

export const ask = async (view, query = {}, signal = undefined) => {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const address = `api/${view}?${new URLSearchParams(given)}`;
  let answer;
  try {
    answer = await fetch(address, { signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(GONE, 0);
  }
  const value = await answer.json().catch(() => ({ problem: `the console answered with ${answer.status}` }));
  if (!answer.ok) throw new Problem(value.problem, answer.status);
  return value;
};

// The token comes behind the # of an address, which no server sees and no log keeps.
export const login = async (token) => {
  const answer = await fetch("api/login", { method: "POST", body: token });
  if (!answer.ok) throw new Problem((await answer.json()).problem, answer.status);
};

const SILENCE_MS = 25_000;
export const AGAIN_MS = 1_000;

// Calls `tell` with each revision, and with null when the console is gone; tries again until stopped.
export const follow = (tell) => {
  let source = null;
  let timer = null;
  let isStopped = false;
  const again = () => {
    if (source) source.close();
    clearTimeout(timer);
    if (isStopped) return;
    tell(null);
    timer = setTimeout(open, AGAIN_MS);
  };
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(again, SILENCE_MS);
  };
  const open = () => {
    source = new EventSource("api/events");
    source.onmessage = (event) => { heard(); tell(Number(event.data)); };
    source.onerror = again;
    heard();
  };
  open();
  return () => { isStopped = true; again(); };
};
