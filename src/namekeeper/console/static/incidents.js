// What is wrong now and was wrong lately: each failure with its cause and the topics that it took along.

import { h } from "./preact.js";
import { useContext } from "./hooks.js";
import { BrokerLink, Link, Notice, Page, SectionHead, Table, Time, TopicLink, When, printable, useAnswer } from "./parts.js";
import { duration, fromAddress } from "./time.js";

const BROKERS_SHOWN = 5;
const OF_TOPICS = new Set(["topic_unwritable", "topic_deleted"]);

const number = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

// The brokers and the first topic lead to their views, and a topic of the time to its cause.
const Places = ({ row }) => {
  const brokers = row.broker_names.slice(0, BROKERS_SHOWN).map((name, index) => [index ? ", " : "", h(BrokerLink, { key: name, name })]);
  const topic = row.first_topic === null ? null : [
    h(TopicLink, { name: row.first_topic }), row.topics > 1 ? ` and ${number(row.topics - 1, "more topic", "more topics")}` : "",
    " (", h(Link, { to: { view: "why", name: row.first_topic, at: row.from_ts } }, "why"), ")"];
  return [brokers.length ? h("div", { key: "brokers" }, brokers) : null, topic ? h("div", { key: "topic" }, topic) : null];
};

const Lasted = ({ row, upTo }) => [
  h("div", { key: "lasted" }, duration((row.to_ts === null ? upTo : row.to_ts) - row.from_ts)),
  row.to_window_ms ? h("div", { key: "window", class: "soft" }, `or up to ${duration(row.to_window_ms)} less`) : null,
  row.is_forgotten ? h("div", { key: "forgotten", class: "soft" }, "then not expected any more") : null];

const rowOf = (row, upTo) => ({
  key: `${row.kind} ${row.from_ts} ${row.what}`,
  cells: [[h(Link, { to: { view: "incident", id: row.id, began: row.from_ts } }, h("b", { class: row.to_ts === null && !row.planned ? "wrong" : undefined }, printable(row.what))),
    row.planned ? h("div", { class: "soft" }, `planned: window ${row.planned}`) : null], h(When, { ms: row.from_ts, windowMs: row.from_window_ms }), h(Lasted, { row, upTo }),
    [printable(row.why), row.cost && !OF_TOPICS.has(row.kind) ? h("div", { class: "soft" }, printable(row.cost)) : null], h(Places, { row })],
});

const COLUMNS = [{ title: "what" }, { title: "since", kind: "time" }, { title: "for", kind: "number" }, { title: "why" }, { title: "look at" }];

// The maintenance windows that are open: what is worked on, until when, and who said so.
const SCOPES = { clusters: "cluster", brokers: "broker", topics: "topic", name_servers: "name server" };
const WINDOW_COLUMNS = [{ title: "what" }, { title: "until", kind: "time" }, { title: "who" }, { title: "why" }, { title: "window" }];
const scopeOf = (window) => Object.entries(window.scope).map(([kind, names]) => `${SCOPES[kind]} ${names.map(printable).join(", ")}`).join("; ")
  + (window.more ? ` and ${number(window.more, "more", "more")}` : "");

const Windows = ({ windows }) => h("section", { "aria-labelledby": "maintenance" },
  h(SectionHead, { id: "maintenance", title: "Maintenance", count: windows.length }),
  h(Table, { label: "Maintenance", columns: WINDOW_COLUMNS,
    rows: windows.map((window) => ({ key: window.id, cells: [scopeOf(window), h(Time, { ms: window.end, plain: true }), printable(window.who), printable(window.why), window.id] })) }));

// All deviations, or verdicts, of an incident that has several.
const Details = ({ row }) => (row.detail_count > 1 ? h("section", { "aria-label": "Details" },
  h("ul", null, row.details.map((text, index) => h("li", { key: index }, printable(text)))),
  h(More, { shown: row.details.length, total: row.detail_count })) : null);

const More = ({ shown, total }) => (total > shown ? h("p", { class: "soft" }, `and ${number(total - shown, "more", "more")}`) : null);

// Only of the present: what was wrong at another instant is what its tables show.
export const Incidents = ({ version }) => {
  const page = useContext(Page);
  const isPast = page.params.at !== undefined;
  const { value, isOld } = useAnswer("incidents", {}, isPast ? 0 : version);
  if (isPast || value === null || value.since === null) return null;
  return h("div", { id: "incidents", "aria-busy": String(isOld) },
    h("section", { "aria-labelledby": "wrong-now" },
      h(SectionHead, { id: "wrong-now", title: "Wrong now", count: value.open_total || undefined }),
      value.open.length ? h(Table, { label: "Wrong now", columns: COLUMNS, rows: value.open.map((row) => rowOf(row, value.up_to)) })
        : h("p", { class: "soft empty" }, "Nothing is wrong now, as far as is known."),
      h(More, { shown: value.open.length, total: value.open_total })),
    value.windows.length ? h(Windows, { windows: value.windows }) : null,
    value.recent.length ? h("section", { "aria-labelledby": "wrong-lately" },
      h(SectionHead, { id: "wrong-lately", title: "Wrong lately", count: value.recent_total },
        h("span", { class: "soft" }, "since ", h(Time, { ms: value.since, plain: true }))),
      h(Table, { label: "Wrong lately", columns: COLUMNS, rows: value.recent.map((row) => rowOf(row, value.up_to)) }),
      h(More, { shown: value.recent.length, total: value.recent_total })) : null);
};

// What was there and what happened around an incident.
const AROUND_MS = 5 * 60_000;

// One incident, as the link of a message names it: by its id, and its start.
export const Incident = ({ version }) => {
  const page = useContext(Page);
  const { id, began } = page.params;
  const { value, problem, isOld } = useAnswer("incident", { id, began }, version);
  if (problem) return h(Notice, { kind: "bad" }, problem.message);
  if (value === null) return null;
  const from = value.rows.length ? value.rows[0].from_ts : fromAddress(began);
  return h("section", { "aria-labelledby": "incident", "aria-busy": String(isOld) },
    h(SectionHead, { id: "incident", title: "Incident" }),
    value.is_exact ? null : h(Notice, null, value.rows.length ? "Later records moved its start. These began at nearly the same time."
      : ["No incident of that time is known here. Incidents are known from ", value.since === null ? "no time" : h(Time, { ms: value.since, plain: true }), " on. ",
        "Later records may explain it otherwise."]),
    h(Table, { label: "Incident", columns: COLUMNS, rows: value.rows.map((row) => rowOf(row, value.up_to)), empty: "" }),
    value.rows.map((row) => h(Details, { key: row.id, row })),
    h("p", null, h(Link, { to: { view: "changes", from: from - AROUND_MS, to: from + AROUND_MS } }, "What happened around its start"), ", ",
      h(Link, { to: { view: "now", at: from } }, "what was there then"), ", ", h(Link, { to: { view: "now" } }, "what is wrong now")));
};
