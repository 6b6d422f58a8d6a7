// What name servers disagree about at an instant: a verdict on each cause, since when, and where to look.

import { h } from "./preact.js";
import { useContext } from "./hooks.js";
import { BrokerLink, Link, Name, Notice, Page, Table, TopicLink, When, printable, useAgain, useAnswer } from "./parts.js";
import { duration } from "./time.js";
import { Slider } from "./views.js";

const LIMIT = 200;
const NAMES = 5;

const KINDS = {
  no_brokers: "no brokers", partial_list: "partial list", broker_missing: "broker missing", topic_missing: "topic missing",
  permission_differs: "permission", queues_differ: "queues", order_differs: "order configuration", kv_differs: "KV entry",
};
const BAD = new Set(["no_brokers", "partial_list", "broker_missing", "topic_missing"]);

const Since = ({ row, at }) => [h(When, { ms: row.since, windowMs: row.since_window_ms }), row.is_since_known ? "" : " or before",
  at > row.since ? h("div", { class: "soft" }, `for ${duration(at - row.since)}`) : null];

// The history of what a verdict is about, and why a topic has no route.
const Links = ({ row, at }) => {
  const links = [
    ...row.brokers.slice(0, NAMES).map((name) => h(BrokerLink, { name })),
    ...row.topics.slice(0, NAMES).map((name) => [h(TopicLink, { name, at }), " (", h(Link, { to: { view: "why", name, at } }, "why?"), ")"]),
  ];
  const more = Math.max(0, row.broker_count - NAMES) + Math.max(0, row.topic_count - NAMES);
  return [links.map((link, index) => h("div", { key: index }, link)), more ? h("div", { class: "soft" }, `and ${more.toLocaleString("en")} more`) : null];
};

// Names have hyphens, at which a line must not break.
const Words = ({ text }) => text.split(/( )/).map((word, index) => (word.includes("-") ? h(Name, { key: index, text: word, long: 255 }) : printable(word)));

const Details = ({ rows }) => (rows.length ? h("ul", { class: "evidence" }, rows.map((row) => h("li", { key: row.namesrv },
  h(Name, { text: row.namesrv }), `: ${printable(row.text)}`, row.at === null ? "" : [", ", h(When, { ms: row.at, windowMs: row.window_ms })]))) : null);

// Clients do not ask shadows, so that these have lines of their own, for the present.
const nothing = (value) => {
  if (value.name_servers.some((row) => row.compared_with.length)) return "The name servers agree.";
  if (!value.shadow_ids.length) return "There are no two name servers to compare at this instant.";
  const isOne = value.shadow_ids.length === 1;
  const shadow = isOne ? "the shadow" : "shadows";
  return `Besides ${shadow} there are no two name servers to compare. ${value.shadows.length
    ? `The ${isOne ? "line above compares" : "lines above compare"} ${shadow} with the others.`
    : `namekeeper shadow --at compares ${shadow} with the others at an instant.`}`;
};

export const Drift = ({ overview, version }) => {
  const page = useContext(Page);
  const { at } = page.params;
  const times = useAgain(at);
  const { value, problem, isOld } = useAnswer("drift", { at, limit: LIMIT }, `${version} ${times}`);
  return h("div", { "aria-busy": String(isOld) },
    h("h2", { id: "drift" }, "What name servers disagree about", value ? h("span", { class: "count" }, ` ${value.total.toLocaleString("en")}`) : null),
    value ? value.shadows.map((row) => h(Notice, { key: row.id },
      h(Name, { text: row.id }), `: ${printable(row.summary)}`)) : null,
    h(Slider, { overview }),
    problem ? h(Notice, { kind: "bad" }, problem.message) : null,
    value ? value.name_servers.filter((row) => row.why_not).map((row) => h(Notice, { key: row.namesrv },
      `${printable(row.namesrv)} is not compared: ${row.why_not}`)) : null,
    value && value.unsettled ? h("p", { class: "soft" },
      `${value.unsettled.toLocaleString("en")} more ${value.unsettled === 1 ? "difference does" : "differences do"} not count: perhaps a change on its way.`) : null,
    value ? h(Table, {
      label: "Verdicts", empty: nothing(value),
      columns: [{ title: "since", kind: "time" }, { title: "what" }, { title: "verdict", kind: "details" }, { title: "look at", kind: "addr" }],
      rows: value.verdicts.map((row) => ({
        key: `${row.kind} ${row.summary}`,
        cells: [h(Since, { row, at: value.at }), h("span", { class: BAD.has(row.kind) ? "wrong" : "differs" }, KINDS[row.kind]),
          [h("b", null, h(Words, { text: row.summary })), h(Details, { rows: row.details })], h(Links, { row, at })],
      })),
    }) : null,
    value && value.total > value.verdicts.length ? h("p", { class: "soft" }, `These are the first ${value.verdicts.length}.`) : null);
};
