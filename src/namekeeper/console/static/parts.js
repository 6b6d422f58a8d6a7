// Small parts that every view is made of. Names are texts of strangers: they become text nodes, never markup.

import { createContext, h } from "./preact.js";
import { useContext, useEffect, useRef, useState } from "./hooks.js";
import { AGAIN_MS, ask } from "./api.js";
import { isLocalUtc, iso, local, utc, utcClock } from "./time.js";

export const Page = createContext(null);

// Characters without a shape of their own are shown by their numbers, as the commands do.
export const printable = (text) => String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}]/gu,
  (each) => `\\u${each.codePointAt(0).toString(16).padStart(4, "0")}`);

export const Name = ({ text, long = 60 }) => {
  const shown = printable(text);
  const cut = shown.length > long ? `${shown.slice(0, long - 1)}…` : shown;
  return h("bdi", { title: cut === shown ? undefined : shown }, cut);
};

export const Link = ({ to, children, ...more }) => {
  const page = useContext(Page);
  const follow = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    page.go(to);
  };
  return h("a", { href: page.address(to), onClick: follow, ...more }, children);
};

export const TopicLink = ({ name, at }) => h(Link, { to: { view: "topic", name, at } }, h(Name, { text: name }));
export const BrokerLink = ({ name, at }) => h(Link, { to: { view: "broker", name, at } }, h(Name, { text: name }));

// A time in the reader's zone, and beside it in UTC; it breaks between the two only.
const Both = ({ ms }) => (isLocalUtc(ms) ? h("span", { class: "moment" }, utc(ms))
  : [h("span", { class: "moment" }, local(ms)), " ", h("span", { class: "moment soft" }, utcClock(ms))]);

// Each time is a link to what was there then.
export const Time = ({ ms, plain = false }) => {
  if (ms === null || ms === undefined) return null;
  const time = h("time", { dateTime: iso(ms), title: iso(ms) }, h(Both, { ms }));
  return plain ? time : h(Link, { to: { view: "now", at: ms }, class: "quiet" }, time);
};

// The time of a change; of one that an observer recorded, the times between which it happened.
export const When = ({ ms, windowMs }) => (windowMs
  ? [h("span", { class: "soft" }, "between "), h(Time, { ms: ms - windowMs }), h("span", { class: "soft" }, " and "), h(Time, { ms })]
  : h(Time, { ms }));

export const Notice = ({ kind = "notice", children }) =>
  h("p", { class: `banner ${kind}`, role: kind === "bad" ? "alert" : "status" }, children);

// The answer of a view, what is wrong with it, and whether a newer one is on its way.
// While a newer one is on its way the older one stays; of several changes in a row only the last is asked for.
// A question without any answer is asked again: nothing else may change for hours.
// A disagreement counts some seconds after it began, when nothing else may change.
const COUNTS_AFTER_MS = 10_000;

// Changes while the present is shown, so that disagreements are asked for again.
export const useAgain = (at) => {
  const [times, setTimes] = useState(0);
  useEffect(() => {
    if (at) return undefined;
    const timer = setInterval(() => setTimes((before) => before + 1), COUNTS_AFTER_MS);
    return () => clearInterval(timer);
  }, [at]);
  return times;
};

export const useAnswer = (view, query, version) => {
  const [state, setState] = useState({ value: null, problem: null, of: null });
  const running = useRef(null);
  const waiting = useRef(null);
  const isGone = useRef(false);
  const again = useRef(null);
  const key = JSON.stringify([view, query]);
  const run = (wanted) => {
    clearTimeout(again.current);
    running.current = wanted;
    ask(wanted.view, wanted.query).then(
      (value) => ({ value, problem: null }), (problem) => ({ value: null, problem }),
    ).then((found) => {
      running.current = null;
      if (isGone.current) return;
      const next = waiting.current;
      waiting.current = null;
      if (found.problem) setState((before) => ({ ...before, problem: found.problem, of: wanted.key }));
      else setState({ ...found, of: wanted.key });
      if (next) run(next);
      else if (found.problem && !found.problem.status) again.current = setTimeout(run, AGAIN_MS, wanted);
    });
  };
  useEffect(() => {
    const wanted = { view, query, key };
    if (running.current) waiting.current = wanted;
    else run(wanted);
  }, [key, version]);
  useEffect(() => () => {
    isGone.current = true;
    clearTimeout(again.current);
  }, []);
  const isOfSameView = state.of !== null && JSON.parse(state.of)[0] === view;
  return { value: isOfSameView ? state.value : null, problem: state.problem, isOld: state.of !== key };
};

const isNothing = (cell) => cell === null || cell === undefined || cell === "";

// A table whose cells carry the title of their column, for phones; no line of it ends at the hyphen of a name.
export const Table = ({ label, columns, rows, empty }) => {
  if (!rows.length) return h("p", { class: "soft empty" }, empty);
  return h("table", { role: "table", "aria-label": label },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
      columns.map((column) => h("th", { scope: "col", role: "columnheader", class: column.kind }, column.title)))),
    h("tbody", { role: "rowgroup" }, rows.map((row) => h("tr", { role: "row", key: row.key, class: row.class },
      columns.map((column, index) => h("td", {
        role: "cell", "data-title": column.title.replaceAll("-", "\u2011"), class: column.kind || "words",
      }, isNothing(row.cells[index]) ? null : h("div", null, row.cells[index])))))));
};

// The buttons of a window over a long list.
// An answer may have fewer rows than the limit.
export const Window = ({ offset, limit, shown, total, go }) => {
  if (total <= shown && !offset) return null;
  const last = offset + shown;
  return h("p", { class: "window" },
    h("button", { type: "button", disabled: offset === 0, onClick: () => go(Math.max(0, offset - limit)) }, "Before"),
    h("span", null, `${(offset + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${total.toLocaleString("en")}`),
    h("button", { type: "button", disabled: last >= total, onClick: () => go(last) }, "Next"));
};

// The head of a section: its title, how much there is, and what to show of it.
export const SectionHead = ({ id, title, count, children }) => h("div", { class: "section-head" },
  h("h2", { id }, title, count === undefined ? null : h("span", { class: "count" }, ` ${count.toLocaleString("en")}`)),
  children);

export const Field = ({ label, children }) => h("label", null, label, children);
