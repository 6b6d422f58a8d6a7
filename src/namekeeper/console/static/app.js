// The page: its address, its head, and the view that the address names.

import { h, render } from "./preact.js";
import { useEffect, useMemo, useRef, useState } from "./hooks.js";
import { ask, follow, login } from "./api.js";
import { Drift } from "./drift.js";
import { Incident } from "./incidents.js";
import { Link, Notice, Page, useAnswer } from "./parts.js";
import { both, fromAddress, iso } from "./time.js";
import { Audit, Broker, Changes, Compare, Instant, Search, Topic, Why } from "./views.js";

const VIEWS = { now: Instant, incident: Incident, drift: Drift, changes: Changes, audit: Audit, topic: Topic, broker: Broker, why: Why, compare: Compare, search: Search };
const TITLES = [["now", "What is there"], ["drift", "Drift"], ["changes", "What happened"], ["audit", "Who asked"], ["why", "Why?"], ["compare", "Compare"]];
const TIMES = new Set(["at", "began", "from", "to", "a_at", "b_at"]);

// An address has times as ISO 8601, so that people can read it.
const address = ({ view, ...params }) => {
  const query = new URLSearchParams();
  if (view && view !== "now") query.set("view", view);
  Object.entries(params).forEach(([name, value]) => {
    if (value === undefined || value === null || value === "") return;
    const ms = TIMES.has(name) ? fromAddress(String(value)) : null;
    query.set(name, ms === null ? value : iso(ms));
  });
  const text = query.toString();
  return text ? `?${text}` : "./";
};
const read = () => {
  const { view = "now", ...params } = Object.fromEntries(new URLSearchParams(location.search));
  return { view: VIEWS[view] ? view : "now", params };
};

const usePage = () => {
  const [state, setState] = useState(read);
  const current = useRef(state);
  current.current = state;
  const show = (to, { replace = false } = {}) => {
    history[replace ? "replaceState" : "pushState"](null, "", address(to));
    setState(read());
  };
  useEffect(() => {
    const back = () => setState(read());
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);
  return useMemo(() => ({
    ...state,
    address,
    go: (to) => { show(to); scrollTo(0, 0); },
    change: (changes, how) => show({ view: current.current.view, ...current.current.params, ...changes }, how),
    beside: (at) => ask("beside", { at }),
  }), [state]);
};

const useRevision = () => {
  const [state, setState] = useState({ revision: 0, version: 0, isGone: false, heard: Date.now() });
  useEffect(() => follow((revision) => setState((before) => {
    if (revision === null) return before.isGone ? before : { ...before, isGone: true };
    return { revision, version: before.version + 1, isGone: false, heard: Date.now() };
  })), []);
  return state;
};

const Head = ({ page }) => {
  const search = (event) => {
    const q = event.target.value;
    if (q && page.view === "search") page.change({ q }, { replace: true });
    else page.go(q ? { view: "search", q } : { view: "now" });
  };
  return h("header", { class: "head" },
    h("h1", null, h(Link, { to: { view: "now" } }, "Namekeeper")),
    h("nav", { "aria-label": "Views" }, h("ul", null, TITLES.map(([view, title]) => h("li", { key: view },
      h(Link, { to: { view }, "aria-current": page.view === view ? "page" : undefined }, title))))),
    h("div", { role: "search" }, h("input", {
      id: "search", type: "search", placeholder: "Search (key /)", "aria-label": "Search topics, brokers, addresses", autocomplete: "off",
      defaultValue: page.params.q || "", onInput: search,
    })));
};

// Keys: / searches; , and . go to the change before and after; n is now.
const useKeys = () => useEffect(() => {
  const keys = { "/": "search", ",": "before", ".": "after", n: "to-now" };
  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=range]), select, textarea")) return;
    const target = document.getElementById(keys[event.key]);
    if (!target) return;
    event.preventDefault();
    if (event.key === "/") target.focus();
    else target.click();
  };
  addEventListener("keydown", press);
  return () => removeEventListener("keydown", press);
}, []);

const Login = ({ why, done }) => {
  const [problem, setProblem] = useState(why);
  const send = (event) => {
    event.preventDefault();
    login(event.target.elements.token.value.trim()).then(done, (error) => setProblem(error.message));
  };
  return h("main", null, h("h2", null, "Who is there?"), h("form", { class: "console-filters", onSubmit: send },
    h("label", null, "Token", h("input", { name: "token", type: "password", autocomplete: "current-password" })),
    h("button", { type: "submit" }, "Open"),
    h(Notice, { kind: "bad" }, problem)));
};

// What is wrong with the instant of the address, or with the console as a whole.
const Trouble = ({ problem, isAlone }) => {
  const notice = h(Notice, { kind: "bad" }, problem.message);
  return isAlone ? h("main", null, notice, h("p", null, h(Link, { to: { view: "now" } }, "What is there"))) : notice;
};

// While journals are read it is asked again so often how far that is.
const READING_MS = 500;

const App = () => {
  const page = usePage();
  const { version, isGone, heard } = useRevision();
  const [logins, setLogins] = useState(0);
  const [reads, setReads] = useState(0);
  useKeys();
  const asked = `${version} ${logins} ${reads}`;
  const { value, problem, isOld } = useAnswer("overview", { at: page.params.at }, asked);
  useEffect(() => { document.title = `${page.params.name ? `${page.params.name} · ` : ""}${page.view} · Namekeeper`; }, [page]);
  const isRead = !value || value.namesrvs.every((row) => row.problem || row.progress[0] >= row.progress[1]);
  useEffect(() => {
    if (isRead) return undefined;
    const timer = setTimeout(() => setReads(reads + 1), READING_MS);
    return () => clearTimeout(timer);
  }, [isRead, reads]);
  const View = VIEWS[page.view];
  const isLocked = problem && problem.status === 401;
  return h(Page.Provider, { value: page },
    h(Head, { page }),
    isGone ? h(Notice, { kind: "bad" }, `The console does not answer since ${both(heard)}. What is below is what it said then; it is asked again every second. Is it still running?`) : null,
    isLocked ? h(Login, { why: problem.message, done: () => setLogins(logins + 1) }) : problem && !isGone ? h(Trouble, { problem, isAlone: !value }) : null,
    value && !isLocked ? h("main", { id: "view", "data-view": page.view, "aria-busy": String(isOld) }, h(View, { overview: value, version: asked, key: `${page.view} ${page.view === "why" ? "" : page.params.name || ""}` })) : null,
    !value && !problem ? h("main", null, h("p", { class: "soft", role: "status" }, "The console is asked …")) : null);
};

const start = () => render(h(App), document.getElementById("app"));
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  history.replaceState(null, "", location.pathname + location.search);
  login(given).then(start, start);
} else start();
