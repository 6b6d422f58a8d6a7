// Tables of an instant: name servers, brokers, topics.

import { h } from "./preact.js";
import { useContext } from "./hooks.js";
import { BrokerLink, Field, Link, Name, Notice, Page, Table, Time, TopicLink, useAnswer, Window } from "./parts.js";
import { duration } from "./time.js";

const LIMIT = 50;

const Differs = ({ since, now }) => since === null || since === undefined ? null
  : h("span", { class: "differs" }, "they disagree since ", h(Time, { ms: since }), now > since ? `, ${duration(now - since)}` : "");

const knowledgeOf = (row) => {
  if (row.problem) return h("span", { class: "differs" }, row.problem);
  if (row.progress[0] < row.progress[1]) return `being read: ${row.progress[0]} of ${row.progress[1]} parts`;
  if (row.knowledge !== "known") return h("span", { class: "differs" }, row.knowledge_text);
  return row.is_running ? "runs" : "does not run now";
};

export const NameServers = ({ rows }) => h("section", { "aria-labelledby": "namesrvs" },
  h("h2", { id: "namesrvs" }, "Name servers"),
  h(Table, {
    label: "Name servers", empty: "There is no journal. Start the console with --journal DIR for each name server.",
    columns: [
      { title: "name server" }, { title: "state" }, { title: "last that is known", kind: "time" },
      { title: "clusters", kind: "number" }, { title: "broker names", kind: "number" },
      { title: "brokers", kind: "number" }, { title: "topics", kind: "number" },
    ],
    rows: rows.map((row) => ({
      key: row.namesrv,
      cells: [h(Name, { text: row.namesrv }), knowledgeOf(row), h(Time, { ms: row.knows_up_to, plain: true }),
        ...["clusters", "broker_names", "brokers", "topics"].map((name) =>
          row.knowledge === "known" ? row[name].toLocaleString("en") : "")],
    })),
  }),
  rows.flatMap((row) => row.notes.map((note) => h(Notice, { key: note }, note))));

const useTable = (view, prefix, version) => {
  const page = useContext(Page);
  const params = page.params;
  const query = {
    at: params.at, text: params.text, only: params[`${prefix}only`], offset: params[prefix] || 0, limit: LIMIT,
  };
  const found = useAnswer(view, query, version);
  return { ...found, offset: Number(params[prefix] || 0), go: (offset) => page.change({ [prefix]: offset || undefined }) };
};

const Only = ({ name, choices }) => {
  const page = useContext(Page);
  return h(Field, { label: "Show" }, h("select", {
    value: page.params[`${name}only`] || "",
    onChange: (event) => page.change({ [`${name}only`]: event.target.value || undefined, [name]: undefined }),
  }, choices.map(([value, words]) => h("option", { value }, words))));
};

export const Brokers = ({ namesrvs, version, now }) => {
  const { value, problem, offset, go, isOld } = useTable("brokers", "b", version);
  const known = namesrvs.filter((row) => row.knowledge === "known");
  return h("section", { "aria-labelledby": "brokers", "aria-busy": String(isOld) },
    h("h2", { id: "brokers" }, "Brokers"),
    h("div", { class: "filters-row" }, h(Only, { name: "b", choices: [["", "all brokers"], ["differs", "what name servers disagree about"]] })),
    problem ? h(Notice, { kind: "bad" }, problem.message) : null,
    value ? h(Table, {
      label: "Brokers", empty: known.length ? "No broker fits." : "No name server is known at this instant.",
      columns: [{ title: "cluster" }, { title: "broker name" }, { title: "id", kind: "number" }, { title: "address", kind: "addr" },
        ...known.map((row) => ({ title: `since, at ${row.namesrv}`, kind: "time" })), { title: "disagreement" }],
      rows: value.rows.map((row) => ({
        key: `${row.cluster} ${row.broker_name} ${row.broker_id} ${row.addr}`,
        cells: [h(Name, { text: row.cluster }), h(BrokerLink, { name: row.broker_name }), row.broker_id,
          h(BrokerLink, { name: row.addr }),
          ...known.map(({ namesrv }) => {
            const live = row.at[namesrv];
            if (!live) return h("span", { class: "differs" }, "not registered");
            return [live.since === null ? "before what is known" : h(Time, { ms: live.since }),
              live.heard === null ? null : h("div", { class: "soft" }, "last heard ", h(Time, { ms: live.heard, plain: true }))];
          }),
          h(Differs, { since: row.differs_since, now })],
      })),
    }) : null,
    value ? h(Window, { offset, limit: LIMIT, total: value.total, go }) : null);
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
    h("h2", { id: "topics" }, "Topics"),
    h("div", { class: "filters-row" }, h(Only, { name: "t", choices: [["", "all topics"], ["unwritable", "without a queue to write to"], ["differs", "what name servers disagree about"]] })),
    problem ? h(Notice, { kind: "bad" }, problem.message) : null,
    value ? h(Table, {
      label: "Topics", empty: namesrvs.some((row) => row.knowledge === "known") ? "No topic fits." : "No name server is known at this instant.",
      columns: [{ title: "topic" }, { title: "permission and read/write queues" }, { title: "to write to" }, { title: "disagreement" }],
      rows: value.rows.map((row) => {
        const without = Object.entries(row.writable).filter(([, isWritable]) => !isWritable).map(([name]) => name);
        return {
          key: row.topic,
          cells: [h(TopicLink, { name: row.topic, at: page.params.at }), h(Routes, { row, namesrvs }),
            without.length ? h(Link, { class: "differs", to: { view: "why", name: row.topic, at: page.params.at } },
              `no queue at ${without.join(", ")}: why?`) : "yes",
            h(Differs, { since: row.differs_since, now })],
        };
      }),
    }) : null,
    value ? h(Window, { offset, limit: LIMIT, total: value.total, go }) : null);
};
