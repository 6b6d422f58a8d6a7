// What there is at an instant: what to look at first, and tables of name servers, brokers, topics.

import { h } from "./preact.js";
import { useContext } from "./hooks.js";
import { BrokerLink, Link, Name, Notice, Page, SectionHead, Table, Time, TopicLink, When, printable, useAgain, useAnswer, Window } from "./parts.js";
import { both, duration } from "./time.js";

const LIMIT = 50;
const NOTHING_KNOWN = "No name server is known at this instant: move the slider to a time that is.";

const Differs = ({ since, now }) => since === null || since === undefined ? null
  : h("span", { class: "differs" }, "they have disagreed since ", h(Time, { ms: since }), now > since ? [", ", h("span", { class: "moment" }, duration(now - since))] : "");

const number = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const isBeingRead = (row) => !row.problem && row.progress[0] < row.progress[1];
const isCompared = (rows) => rows.some((row) => row.knowledge === "known" && row.compared_with.length);
const hasClusters = (rows) => rows.some((row) => row.compared_with.length < rows.length - 1);
const hasLabels = (rows) => rows.some((row) => row.cluster_label);
const progressOf = (row) => `${row.progress[0].toLocaleString("en")} of ${number(row.progress[1], "part", "parts")}`;
const knowledgeOf = (row) => {
  if (row.problem) return h("span", { class: "wrong" }, printable(row.problem));
  if (isBeingRead(row)) return `being read: ${progressOf(row)}`;
  if (row.knowledge !== "known") return h("span", { class: "wrong" }, row.knowledge_text);
  return row.is_running ? "runs" : "does not run now";
};

export const NameServers = ({ rows }) => h("section", { "aria-labelledby": "namesrvs" },
  h(SectionHead, { id: "namesrvs", title: "Name servers" },
    rows.length > 1 ? h(Link, { to: { view: "compare" } }, "Compare two of them, or two instants, row by row") : null),
  h(Table, {
    label: "Name servers", empty: "There is no journal. Start the console with --journal DIR for each name server.",
    columns: [
      { title: "name server" }, { title: "state" }, { title: "last that is known", kind: "time" },
      { title: "clusters", kind: "number" }, { title: "broker names", kind: "number" },
      { title: "brokers", kind: "number" }, { title: "topics", kind: "number" },
      ...(hasLabels(rows) ? [{ title: "label" }] : []), ...(hasClusters(rows) ? [{ title: "compared with" }] : []),
    ],
    rows: rows.map((row) => ({
      key: row.namesrv,
      cells: [h(Name, { text: row.namesrv }), knowledgeOf(row), h(Time, { ms: row.knows_up_to, plain: true }),
        ...["clusters", "broker_names", "brokers", "topics"].map((name) =>
          row.knowledge === "known" ? row[name].toLocaleString("en") : ""),
        ...(hasLabels(rows) ? [printable(row.cluster_label)] : []),
        ...(hasClusters(rows) ? [row.compared_with.length ? row.compared_with.map(printable).join(", ") : "none: another cluster"] : [])],
    })),
  }),
  rows.filter((row) => row.uncertain).map((row) => h(Notice, { key: `${row.namesrv} uncertain` }, `${printable(row.namesrv)}: `,
    h(Link, { to: { view: "changes", namesrv: row.namesrv, from: row.at, to: row.uncertain.until } },
      number(row.uncertain.changes, "change", "changes")), " may have happened before this instant, or after it")),
  rows.flatMap((row) => row.notes.map((note) => h(Notice, { key: note }, note))));

const MISSING_SHOWN = 3;

// Brokers that went without unregistering: each alone if they are few, and what went with them.
const missingLines = (value, page) => {
  const at = page.params.at;
  const taken = (count) => (count ? `; ${number(count, "topic", "topics")} went with ${value.brokers_missing > MISSING_SHOWN ? "them" : "it"}` : "");
  if (value.brokers_missing > MISSING_SHOWN) {
    return [["bad", {}, "brokers", `${number(value.brokers_missing, "broker is", "brokers are")} missing, the first since ${both(value.missing[0].since)}${taken(value.topics_missing)}`,
      { view: "changes", to: at }]];
  }
  return value.missing.map((row) => ["bad", {}, "brokers",
    `${printable(row.broker_name)} (${row.broker_id}) at ${printable(row.addr)} is missing since ${both(row.since)}${taken(row.topics)}`,
    { view: "broker", name: row.broker_name, at }]);
};

// What somebody who was woken up should look at first; each leads to its rows.
export const Headlines = ({ namesrvs, version }) => {
  const page = useContext(Page);
  const times = useAgain(page.params.at);
  const { value, isOld } = useAnswer("troubles", { at: page.params.at }, `${version} ${times}`);
  const silent = namesrvs.filter((row) => row.problem || row.knowledge !== "known");
  const lines = silent.map((row) => (isBeingRead(row)
    ? ["notice", {}, "namesrvs", `${printable(row.namesrv)}: its journal is being read, ${progressOf(row)}`]
    : ["bad", {}, "namesrvs", `${printable(row.namesrv)}: ${row.problem ? printable(row.problem) : row.knowledge_text}`]));
  namesrvs.filter((row) => !silent.includes(row) && isBeingRead(row)).forEach((row) => lines.push(["notice", {}, "namesrvs",
    `${printable(row.namesrv)} is shown as it was last: its journal is being read, ${progressOf(row)}`]));
  if (value && value.brokers_missing) lines.push(...missingLines(value, page));
  if (value && value.unwritable) lines.push(["bad", { tonly: "unwritable" }, "topics", `${number(value.unwritable, "topic has", "topics have")} no queue to write to${value.known > 1 ? " at some name server" : ""}`]);
  [["brokers_differ", "broker", "brokers"], ["topics_differ", "topic", "topics"], ["entries_differ", "KV entry", "KV entries"]].forEach(([name, one, many]) => {
    if (value && value[name]) lines.push(["notice", {}, "drift", `name servers disagree about ${number(value[name], one, many)}`, { view: "drift", at: page.params.at }]);
  });
  if (value && value.known && !lines.length) lines.push(["good", {}, "topics", `${value.topics ? "each topic has a queue to write to" : "there is no topic"}${value.compared ? ", and the name servers agree" : ""}`]);
  const show = (event, only, section) => {
    event.preventDefault();
    page.change({ bonly: undefined, tonly: undefined, b: undefined, t: undefined, ...only });
    document.getElementById(section).scrollIntoView();
  };
  return h("ul", { class: "headlines", "aria-label": "Headlines", "aria-busy": String(isOld) }, lines.map(([kind, only, section, text, to]) =>
    h("li", { key: text, class: kind }, h("a", {
      href: page.address(to || { ...page.params, view: "now", ...only }),
      onClick: (event) => { if (to) { event.preventDefault(); page.go(to); } else show(event, only, section); } },
      h("span", { class: "sign", "aria-hidden": "true" }, { bad: "✕", notice: "!", good: "✓" }[kind]), h("span", null, text)))));
};

const useTable = (view, prefix, version) => {
  const page = useContext(Page);
  const params = page.params;
  const query = {
    at: params.at, text: params[`${prefix}text`], only: params[`${prefix}only`], offset: params[prefix] || 0, limit: LIMIT,
  };
  const found = useAnswer(view, query, version);
  return { ...found, offset: Number(params[prefix] || 0), go: (offset) => page.change({ [prefix]: offset || undefined }) };
};

// Which rows of a table are shown: some of them, and those with a text in their names.
const Rows = ({ name, what, choices }) => {
  const page = useContext(Page);
  const set = (param) => (event) => page.change({ [`${name}${param}`]: event.target.value || undefined, [name]: undefined }, { replace: true });
  return h("div", { class: "rows-shown" },
    h("input", { type: "search", "aria-label": `Text in the names of ${what}`, placeholder: "name has …", autocomplete: "off",
      value: page.params[`${name}text`] || "", onInput: set("text") }),
    h("select", { "aria-label": `Which ${what}`, value: page.params[`${name}only`] || "", onChange: set("only") },
      choices.map(([value, words]) => h("option", { value }, words))));
};

export const Brokers = ({ namesrvs, version, now }) => {
  const { value, problem, offset, go, isOld } = useTable("brokers", "b", version);
  const known = namesrvs.filter((row) => row.knowledge === "known");
  return h("section", { "aria-labelledby": "brokers", "aria-busy": String(isOld) },
    h(SectionHead, { id: "brokers", title: "Brokers", count: value ? value.total : undefined },
      h(Rows, { name: "b", what: "brokers", choices: [["", "all brokers"], ["differs", "what name servers disagree about"]] })),
    problem ? h(Notice, { kind: "bad" }, problem.message) : null,
    value ? h(Table, {
      label: "Brokers", empty: known.length ? "No broker fits." : NOTHING_KNOWN,
      columns: [{ title: value.rows.some((row) => row.zone !== null) ? "cluster, zone" : "cluster" }, { title: "broker name" }, { title: "id", kind: "number" }, { title: "address", kind: "addr" },
        ...known.map((row) => ({ title: known.length > 1 ? `registered at ${printable(row.namesrv)} since` : "registered since", kind: "time" })),
        ...(isCompared(namesrvs) ? [{ title: "disagreement" }] : [])],
      rows: value.rows.map((row) => ({
        key: `${row.cluster} ${row.broker_name} ${row.broker_id} ${row.addr} ${Object.keys(row.at)}`,
        cells: [[h(Name, { text: row.cluster }), row.zone === null ? null : h("div", { class: "soft" }, h(Name, { text: row.zone }))],
          h(BrokerLink, { name: row.broker_name }), row.broker_id,
          h(BrokerLink, { name: row.addr }),
          ...known.map(({ namesrv }) => {
            const live = row.at[namesrv];
            if (live === undefined) return h("span", { class: "soft" }, "another cluster");
            if (!live) return h("span", { class: "differs" }, "not registered");
            return [live.since === null ? "before what is known" : h(When, { ms: live.since, windowMs: live.since_window_ms }),
              live.heard === null ? null : h("div", { class: "soft" }, "last heard ", h(Time, { ms: live.heard, plain: true }))];
          }),
          ...(isCompared(namesrvs) ? [row.differs_since === null ? null : h(Differs, { since: row.differs_since, now })] : [])],
      })),
    }) : null,
    value ? h(Window, { offset, limit: LIMIT, shown: value.rows.length, total: value.total, go }) : null);
};

const queueText = (queue) => `${queue.perm} ${queue.read}/${queue.write}`;

const Routes = ({ row, namesrvs }) => row.routes.map((route) => h("div", { class: "route" },
  row.routes.length > 1 ? h("span", { class: "soft" }, `${route.namesrvs.join(", ")}: `) : null,
  route.queues.length ? route.queues.map((queue, index) => [
    index ? ", " : "", h(BrokerLink, { name: queue.broker_name }), ` ${queueText(queue)}`,
  ]) : h("span", { class: "differs" }, "no route")));

export const Topics = ({ namesrvs, version, now }) => {
  const page = useContext(Page);
  const { value, problem, offset, go, isOld } = useTable("topics", "t", version);
  return h("section", { "aria-labelledby": "topics", "aria-busy": String(isOld) },
    h(SectionHead, { id: "topics", title: "Topics", count: value ? value.total : undefined },
      h(Rows, { name: "t", what: "topics", choices: [["", "all topics"], ["unwritable", "without a queue to write to"], ["differs", "what name servers disagree about"]] })),
    problem ? h(Notice, { kind: "bad" }, problem.message) : null,
    value ? h(Table, {
      label: "Topics", empty: namesrvs.some((row) => row.knowledge === "known") ? "No topic fits." : NOTHING_KNOWN,
      columns: [{ title: "topic" }, { title: "permission, read/write queues" }, { title: "can be written" }, ...(isCompared(namesrvs) ? [{ title: "disagreement" }] : [])],
      rows: value.rows.map((row) => {
        const without = Object.entries(row.writable).filter(([, isWritable]) => !isWritable).map(([name]) => name);
        return {
          key: `${row.topic} ${Object.keys(row.writable)}`,
          cells: [[h(TopicLink, { name: row.topic, at: page.params.at }),
            hasClusters(namesrvs) ? h("div", { class: "soft" }, "at ", Object.keys(row.writable).map(printable).join(", ")) : null], h(Routes, { row, namesrvs }),
            without.length ? h(Link, { class: "wrong", to: { view: "why", name: row.topic, at: page.params.at } },
              "no queue at ", without.map((name, index) => [index ? ", " : "", h(Name, { text: name })]), ": why?") : "yes",
            ...(isCompared(namesrvs) ? [row.differs_since === null ? null : h(Differs, { since: row.differs_since, now })] : [])],
        };
      }),
    }) : null,
    value ? h(Window, { offset, limit: LIMIT, shown: value.rows.length, total: value.total, go }) : null);
};
