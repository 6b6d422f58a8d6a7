// The views: what is or was there, what happened, one topic, one broker, why, two compared, search.

import { h } from "./preact.js";
import { useContext, useState } from "./hooks.js";
import { BrokerLink, Field, Link, Name, Notice, Page, Table, Time, TopicLink, When, printable, useAnswer } from "./parts.js";
import { Incidents } from "./incidents.js";
import { Lanes } from "./plots.js";
import { Brokers, Headlines, NameServers, Topics } from "./tables.js";
import { both, duration, fromAddress, toField, fromField } from "./time.js";

const MORE = 100;
const LIMIT = 500;

const Wrong = ({ problem }) => (problem ? h(Notice, { kind: "bad" }, problem.message) : null);

const namesrvLanes = (overview) => overview.namesrvs.map((row) => ({
  label: row.namesrv,
  bars: row.periods.map((period) => ({
    since: period.since, until: period.until === null ? row.knows_up_to : period.until,
    kind: { up: "up", unknown: "unknown", stopped: "server" }[period.state],
    text: { up: "known", unknown: "unknown: records were lost", stopped: "the name server was not running" }[period.state],
  })),
}));

// Without an instant: what runs is shown as it is now, what does not as it was last.
const present = (overview) => (overview.namesrvs.some((row) => row.is_running) ? "now" : "the last that is known");

// The slider over all that is known, beneath what is known, or beneath the lanes of one topic.
export const Slider = ({ overview, title = "What is known of each name server", lanes = namesrvLanes(overview) }) => {
  const page = useContext(Page);
  const [unsure, setUnsure] = useState({});
  const { first, last, now } = overview;
  if (first === null) return null;
  const at = fromAddress(page.params.at);
  const value = at === null ? last : Math.min(Math.max(at, first), last);
  const move = (event) => page.change({ at: Number(event.target.value) }, { replace: true });
  const step = (direction) => async () => {
    const found = await page.beside(value);
    const to = direction < 0 ? found.before : found.after;
    const begin = direction < 0 ? to || 0 : value;
    setUnsure(found.known_from !== null && begin < found.known_from ? { at: to || value, from: found.known_from } : {});
    if (to !== null) page.change({ at: to });
  };
  return h("section", { class: "instant", "aria-label": "Instant" },
    h(Lanes, { title, lanes, first, last, shapes: overview.shapes, mark: value },
      h("div", { class: "lane slider" }, h("label", { class: "label", for: "slider" }, "instant"),
        h("input", { id: "slider", type: "range", min: first, max: last, step: 1, value,
          "aria-valuetext": both(value), onInput: move })),
      h("div", { class: "instant-row" },
        h("output", { id: "shown-instant", for: "slider instant" }, at === null ? present(overview) : both(at)),
        h("button", { type: "button", id: "before", onClick: step(-1), title: "The change before (key ,)" }, "◀ change"),
        h("button", { type: "button", id: "after", onClick: step(1), title: "The next change (key .)" }, "change ▶"),
        at === null ? null : h("button", { type: "button", id: "to-now", title: "Key n", onClick: () => page.change({ at: undefined }) },
          present(overview) === "now" ? "Now" : "The last"),
        h("input", {
          type: "datetime-local", step: "0.001", value: toField(at === null ? value : at), id: "instant", "aria-label": "Go to an instant",
          onChange: (event) => { const ms = fromField(event.target.value); if (!Number.isNaN(ms)) page.change({ at: ms }); },
        }),
        at !== null && at > now ? h("span", { class: "wrong" }, "this is in the future: nothing is known of it") : null),
      unsure.at === value ? h(Notice, null, "The buttons know all changes from ", h(Time, { ms: unsure.from, plain: true }), ` on. ${NO_ROOM} `,
        h(Link, { to: { view: "changes", to: unsure.at } }, "Older changes")) : null));
};

export const Instant = ({ overview, version }) => h("div", null,
  h("h2", { class: "unseen" }, "What is there"),
  h(Incidents, { version }),
  h(Headlines, { namesrvs: overview.namesrvs, version }),
  h(Slider, { overview }),
  h(NameServers, { rows: overview.namesrvs }),
  h(Brokers, { namesrvs: overview.namesrvs, version, now: overview.at || overview.last }),
  h(Topics, { namesrvs: overview.namesrvs, version, now: overview.at || overview.last }));

const FLAPS = 5;
const FILTERS = [["topic", "Topic"], ["broker", "Broker name or address"], ["peer", "Peer that asked"]];

const Seen = ({ seen, at }) => Object.entries(seen).map(([namesrv, when]) =>
  h("div", { key: namesrv }, h(Name, { text: namesrv }), when > at ? ` +${(when - at).toLocaleString("en")} ms` : ""));

// Permissions and arrows have hyphens, at which a line must not break.
const WHOLE = /^(->|[RW-]{3})$/;
const Details = ({ text }) => text.split("; ").map((part, index) => h("div", { key: index },
  part.split(/( )/).map((word) => (WHOLE.test(word) ? h("span", { class: "moment" }, word) : word))));

// Who closed a connection, under the cause that says that it closed.
const WhoClosed = ({ code, closedBy }) => (code ? h("div", { class: "soft" }, closedBy[code] || code) : null);

export const ChangeTable = ({ value, causes, closedBy, empty }) => h(Table, {
  label: "Changes", empty,
  columns: [{ title: "when", kind: "time" }, { title: "what happened", kind: "cause" }, { title: "details", kind: "details" }, { title: "peer", kind: "addr" }, { title: "rows", kind: "number" }, { title: "name servers", kind: "addr" }],
  rows: value.rows.map((row) => ({
    key: `${row.at} ${Object.keys(row.seen)} ${row.text}`,
    cells: [h(When, { ms: row.at, windowMs: (row.window_ms || {})[Object.keys(row.seen)[0]] }), [causes[row.cause || row.what] || row.cause || row.what, h(WhoClosed, { code: row.closed_by, closedBy })],
      h(Details, { text: printable(row.text.replace(/ \([^()]*\)$/, "")) }), row.peer ? h(Name, { text: row.peer }) : null,
      row.row_count || "", h(Seen, { seen: row.seen, at: row.at })],
  })),
});

const Times = ({ params }) => {
  const page = useContext(Page);
  return [["from", "From"], ["to", "Up to"]].map(([name, label]) => h(Field, { label, key: name }, h("input", {
    type: "datetime-local", step: "0.001", name,
    value: fromAddress(params[name]) === null ? "" : toField(fromAddress(params[name])),
    onChange: (event) => { const ms = fromField(event.target.value); page.change({ [name]: Number.isNaN(ms) ? undefined : ms }); },
  })));
};

// A list that ends where the memory of the page does: from when on it has changes, and how to see older ones.
const OlderChanges = ({ value, limit }) => {
  const page = useContext(Page);
  const to = value.has_more ? (limit >= LIMIT ? value.rows.at(-1).at : null) : value.older_to;
  return [value.not_read.map((namesrv) => h(NotRead, { key: namesrv, namesrv })),
    to === null ? null : h("p", { id: "older", class: "window" },
      h("span", null, value.has_more ? "These are the first ones." : ["From ", h(Time, { ms: value.known_from, plain: true }), " on; older ones are read from the journal."]),
      h("button", { type: "button", onClick: () => page.change({ to, limit: undefined }) }, "Older"))];
};

const NO_ROOM = "What is older needs more memory (consoleHistoryBytes, --history-bytes).";

const NotRead = ({ namesrv }) => h(Notice, null,
  `${printable(namesrv)}: its older changes are not shown. They need more memory than is left for them (consoleHistoryBytes, --history-bytes), or its journal does not have them any more.`);

// One topic or broker over time: from when on its changes are known, and how to see older ones.
const OlderOfSubject = ({ value }) => {
  const page = useContext(Page);
  return [value.not_read.map((namesrv) => h(NotRead, { key: namesrv, namesrv })),
    value.has_older ? h("p", { id: "older", class: "window" },
      h("span", null, "From ", h(Time, { ms: value.known_from, plain: true }), " on; older ones are read from the journal."),
      h("button", { type: "button", onClick: () => page.change({ older: 1 }) }, "Older"))
      : page.params.older && value.known_from !== null ? h("p", { id: "older", class: "soft" }, "From ", h(Time, { ms: value.known_from, plain: true }), " on: what is older does not fit into the memory.") : null];
};

// The changes up to an instant whose changes every memory has dropped stay the same.
const isPast = (overview, to) => to !== null && overview.namesrvs.every((row) => row.dropped_until !== null && to <= row.dropped_until);

export const Changes = ({ overview, version }) => {
  const page = useContext(Page);
  const params = page.params;
  const limit = Number(params.limit || MORE);
  const { value, problem, isOld } = useAnswer("changes", {
    topic: params.topic, broker: params.broker, cause: params.cause, peer: params.peer, namesrv: params.namesrv,
    text: params.text, from: params.from, to: params.to, limit,
  }, isPast(overview, fromAddress(params.to)) ? 0 : version);
  const set = (name) => (event) => page.change({ [name]: event.target.value || undefined, limit: undefined }, { replace: true });
  return h("section", { "aria-labelledby": "changes", "aria-busy": String(isOld) },
    h("h2", { id: "changes" }, "What happened, newest first"),
    h("form", { class: "console-filters", onSubmit: (event) => event.preventDefault(), "aria-label": "Filter the changes" },
      FILTERS.map(([name, label]) => h(Field, { label, key: name },
        h("input", { type: "search", name, value: params[name] || "", onInput: set(name), autocomplete: "off" }))),
      h(Field, { label: "What happened" }, h("select", { name: "cause", value: params.cause || "", onChange: set("cause") },
        h("option", { value: "" }, "anything"), Object.entries(overview.causes).map(([code, words]) => h("option", { value: code }, words)))),
      h(Field, { label: "Name server" }, h("select", { name: "namesrv", value: params.namesrv || "", onChange: set("namesrv") },
        h("option", { value: "" }, "all"), overview.namesrvs.map((row) => h("option", { value: row.namesrv }, printable(row.namesrv))))),
      h(Times, { params }),
      h("button", { type: "button", onClick: () => page.go({ view: "changes" }) }, "Show all")),
    h(Wrong, { problem }),
    params.topic || params.broker ? h("p", { class: "soft" }, "With those of the name servers themselves: a start, a stop, a loss of records.") : null,
    value ? h(ChangeTable, { value, causes: overview.causes, closedBy: overview.closed_by, empty: value.known_from === null ? "No change fits. Take a filter away, or wait: changes appear here as they come." : "No change fits in this time." }) : null,
    isOld && params.to ? h("p", { class: "soft", role: "status" }, "The changes are being read …") : null,
    value ? h(OlderChanges, { value, limit }) : null,
    value && value.has_more && limit < LIMIT ? h("p", null, h("button", { type: "button", onClick: () => page.change({ limit: limit + MORE }, { replace: true }) }, "Show more")) : null,
    value && value.has_more && limit >= 500 ? h("p", null, h("button", { type: "button", onClick: () => page.change({ to: value.rows.at(-1).at, limit: undefined }) }, "Show older ones")) : null);
};

// It reads the journals, so it is asked when somebody asks, and not at each change.
export const Audit = () => {
  const page = useContext(Page);
  const params = page.params;
  const limit = Number(params.limit || MORE);
  const { value, problem, isOld } = useAnswer("audit", { text: params.text, from: params.from, to: params.to, limit }, 0);
  const ask = (event) => {
    event.preventDefault();
    page.change({ text: event.target.elements.text.value.trim() || undefined, limit: undefined });
  };
  return h("section", { "aria-labelledby": "audit", "aria-busy": String(isOld) },
    h("h2", { id: "audit" }, "Who asked, and who was refused, newest first"),
    h("form", { class: "console-filters", onSubmit: ask },
      h(Field, { label: "Address, user or request" }, h("input", { name: "text", type: "search", defaultValue: params.text || "", key: params.text, autocomplete: "off" })),
      h(Times, { params }),
      h("button", { type: "submit" }, "Search"),
      h("button", { type: "button", onClick: () => page.go({ view: "audit" }) }, "Show all")),
    h(Wrong, { problem }),
    isOld ? h("p", { class: "soft", role: "status" }, "The journals are being read …") : null,
    value ? h("p", { class: "soft" }, "From ", h(Time, { ms: value.from, plain: true }), " on. Name servers with access rules (accessFile) record who asks.") : null,
    value ? h(Table, {
      label: "Requests", empty: "No request in this time fits.",
      columns: [{ title: "when", kind: "time" }, { title: "verdict" }, { title: "request", kind: "details" }, { title: "who", kind: "addr" }, { title: "reason" }, { title: "name server", kind: "addr" }],
      rows: value.rows.map((row, index) => ({
        key: `${row.at} ${index}`,
        cells: [h(Time, { ms: row.at }), row.verdict, printable(row.what),
          row.peer ? h(Link, { to: { view: "changes", peer: row.peer } }, h(Name, { text: row.who })) : row.who, printable(row.reason), h(Name, { text: row.namesrv })],
      })),
    }) : null,
    value ? value.notes.map((note) => h(Notice, { key: note }, printable(note))) : null,
    value && value.has_more ? h("p", null, h("button", { type: "button", onClick: () => page.change({ to: value.rows.at(-1).at, limit: undefined }) }, "Show older ones")) : null);
};

const Missing = ({ value, what }) => h(Notice, null,
  `There is no record of ${what} ${printable(value.name)}`, value.known_from ? [" from ", h(Time, { ms: value.known_from, plain: true }), " on"] : "",
  value.near || ". Is it spelled as the brokers spell it?");

const RouteTable = ({ route }) => {
  if (route.knowledge !== "known") return h(Notice, null, `${printable(route.namesrv)}: ${route.knowledge_text}`);
  return [h(QueueTable, { route, label: `Route at ${printable(route.namesrv)}` }),
    (route.uncertain || []).map((change, index) => h("div", { key: index, class: "uncertain" },
      h(Notice, null, "Uncertain: it changed ", h(When, { ms: change.at, windowMs: change.window_ms }), " to"),
      h(QueueTable, { route: change, label: `Route at ${printable(route.namesrv)} after change ${index + 1}` })))];
};

const QueueTable = ({ route, label }) => {
  const queues = route.route === null ? [] : route.route.queueDatas;
  const addrs = route.route === null ? {} : Object.fromEntries(route.route.brokerDatas.map((data) => [data.brokerName, data.brokerAddrs]));
  return h(Table, {
    label, empty: "no route",
    columns: [{ title: "broker name" }, { title: "read queues", kind: "number" }, { title: "write queues", kind: "number" }, { title: "permission" }, { title: "addresses by id", kind: "addr" }],
    rows: queues.map((queue) => ({
      key: queue.brokerName,
      cells: [h(BrokerLink, { name: queue.brokerName }), queue.readQueueNums, queue.writeQueueNums,
        route.perms[queue.brokerName],
        Object.entries(addrs[queue.brokerName] || {}).map(([id, addr], index) => [index ? ", " : "", `${id} = `, h(BrokerLink, { name: addr })])],
    })),
  });
};

export const Topic = ({ overview, version }) => {
  const page = useContext(Page);
  const { name, at, older } = page.params;
  const { value, problem, isOld } = useAnswer("topic", { name, at, older }, version);
  const changes = useAnswer("changes", { topic: name, limit: 50 }, version);
  return h("div", { "aria-busy": String(isOld || changes.isOld) },
    h("h2", { id: "topic" }, "Topic ", h(Name, { text: name, long: 255 })),
    h("p", null, h(Link, { to: { view: "why", name, at } }, "Why had it no route?"), " · ", h(Link, { to: { view: "changes", topic: name } }, "All its changes")),
    h(Wrong, { problem }),
    value && !value.is_there ? h(Missing, { value, what: "a topic" }) : null,
    value && value.is_there ? h(Slider, { overview, title: "When it had a queue to write to", lanes: value.lanes }) : null,
    value ? h(OlderOfSubject, { value }) : null,
    value && value.is_there ? h("div", { class: "sides" }, value.routes.map((route) => h("section", { key: route.namesrv, class: "route-of", "data-namesrv": route.namesrv },
      h("h3", null, "Route at ", h(Name, { text: route.namesrv })), h(RouteTable, { route })))) : null,
    value && value.is_there ? h(WhoKnows, { name, version }) : null,
    value && value.is_there ? h("section", { "aria-labelledby": "its-changes" }, h("h3", { id: "its-changes" }, "Its changes, newest first"),
      changes.value ? h(ChangeTable, { value: changes.value, causes: overview.causes, closedBy: overview.closed_by, empty: "No change is recorded." }) : null,
      changes.value && (changes.value.has_more || changes.value.older_to !== null) ? h("p", null, h(Link, {
        to: { view: "changes", topic: name, to: changes.value.has_more ? changes.value.rows.at(-1).at : changes.value.older_to } }, "Older changes")) : null) : null);
};

// How often it went and for how long it was away, at each name server.
const Absence = ({ row }) => h("li", null, h("b", null, h(Name, { text: row.namesrv })), ` (${printable(row.addr)}): `,
  row.went === 0 ? "never away as far as is known" : [
    row.went === 1 ? "went once" : `went ${row.went.toLocaleString("en")} times`, `, away for ${duration(row.away_ms)}`,
    row.went > 1 ? ` in all, ${duration(row.longest_ms)} at most` : "",
    row.is_away ? h("span", { class: "wrong alone" }, "it is away") : ""],
  row.flaps.slice(-FLAPS).map((each) => h("div", { key: each.hour, class: "soft" }, `flapped: went ${each.went} times in the hour from `, h(Time, { ms: each.hour }))),
  row.flaps.length > FLAPS ? h("div", { class: "soft" }, `and in ${row.flaps.length - FLAPS} hours before`) : null);

export const Broker = ({ overview, version }) => {
  const page = useContext(Page);
  const { name, older } = page.params;
  const { value, problem, isOld } = useAnswer("broker", { name, older }, version);
  const causes = overview.causes;
  return h("div", { "aria-busy": String(isOld) },
    h("h2", { id: "broker" }, "Broker ", h(Name, { text: name, long: 255 })),
    h("p", null, h(Link, { to: { view: "changes", broker: name } }, "All its changes")),
    h(Wrong, { problem }),
    value && !value.is_there ? h(Missing, { value, what: "a broker" }) : null,
    value ? h(Lanes, { title: "When it was registered", lanes: value.lanes, first: overview.first, last: overview.last, shapes: overview.shapes, mark: null }) : null,
    value ? h(OlderOfSubject, { value }) : null,
    value && value.is_there ? h("ul", { class: "evidence", "aria-label": "Absences" }, value.absences.map((row) => h(Absence, { key: `${row.namesrv} ${row.addr}`, row }))) : null,
    value && value.is_there ? h("section", { "aria-labelledby": "sessions" },
      h("h3", { id: "sessions" }, `${value.session_count.toLocaleString("en")} ${value.session_count === 1 ? "session" : "sessions, newest first"}`),
      h(Table, {
        label: "Sessions", empty: "",
        columns: [{ title: "began", kind: "time" }, { title: "ended", kind: "time" }, { title: "lasted", kind: "number" },
          { title: "away before", kind: "number" }, { title: "broker name, id, address", kind: "addr" }, { title: "name server", kind: "addr" }],
        rows: value.sessions.map((row) => ({
          key: `${row.namesrv} ${row.addr} ${row.since}`,
          cells: [[h(When, { ms: row.since, windowMs: row.since_window_ms }), h("div", null, causes[row.from_cause] || row.from_cause)],
            [row.until === null ? h("b", null, "is registered") : h(When, { ms: row.until, windowMs: row.until_window_ms }), h("div", null, causes[row.to_cause] || row.to_cause), h(WhoClosed, { code: row.to_closed_by, closedBy: overview.closed_by })],
            duration((row.until || row.knows_up_to) - row.since), row.away_ms ? duration(row.away_ms) : "",
            [h(BrokerLink, { name: row.broker_name }), ` ${row.broker_id} `, h(BrokerLink, { name: row.addr })], h(Name, { text: row.namesrv })],
        })),
      })) : null);
};

// Connections that may still hold the route from before the last change.
const WhoKnows = ({ name, version }) => {
  const { value, problem, isOld } = useAnswer("who_knows", { name }, version);
  const clients = (addrs, count) => [addrs.map((addr, index) => [index ? ", " : "", h(Name, { text: addr })]),
    count > addrs.length ? ` and ${(count - addrs.length).toLocaleString("en")} more` : ""];
  return h("section", { "aria-labelledby": "who-knows", "aria-busy": String(isOld) },
    h("h3", { id: "who-knows" }, "Who has asked since its last change"),
    h(Wrong, { problem }),
    value && !value.rows.length ? h("p", { class: "soft" }, "A name server with rememberLookups=true knows: start the console with --http HOST:PORT, its operators' port.") : null,
    value && value.rows.length ? h(Table, {
      label: "Who has asked", empty: "",
      columns: [{ title: "name server", kind: "addr" }, { title: "last change", kind: "time" }, { title: "have asked since", kind: "number" },
        { title: "have not", kind: "number" }, { title: "may hold the old route" }],
      rows: value.rows.map(({ namesrv, problem: why, answer }) => ({
        key: namesrv,
        cells: answer === null ? [h(Name, { text: namesrv || "this one" }), null, null, null, h("span", { class: "soft" }, printable(why))]
          : [h(Name, { text: namesrv || "this one" }), answer.change === null ? h("span", { class: "soft" }, "none that is kept") : h(Time, { ms: answer.change.at }),
            answer.since_count.toLocaleString("en"), answer.before_count.toLocaleString("en"),
            answer.before_count ? clients(answer.before.slice(0, 20), answer.before_count) : "nobody"],
      })),
    }) : null);
};

// A text whose brokers and peers lead to their views.
const Linked = ({ text, links }) => text.split(/([\s,;()]+|:(?=\s|$))/).map((word, index) => {
  const shown = h(Name, { text: word, long: 255 });
  if (links[word] === "broker") return h(Link, { key: index, to: { view: "broker", name: word } }, shown);
  if (links[word] === "peer") return h(Link, { key: index, to: { view: "changes", peer: word } }, shown);
  return printable(word);
});

const Facts = ({ facts, links }) => h("ul", { class: "evidence" }, facts.map((fact, index) => h("li", { key: index },
  h(Linked, { text: fact.text, links }), fact.at === undefined || fact.at === null ? "" : [": ", h(When, { ms: fact.at, windowMs: fact.window_ms })],
  fact.until ? [" to ", h(Time, { ms: fact.until })] : "", h(WhatElse, { fact, links }))));

// What else the host of a fact has asked for, in the hour before it and the minute after it.
const WhatElse = ({ fact, links }) => {
  const peer = Object.keys(links).find((word) => links[word] === "peer" && fact.text.includes(word));
  if (!peer || !fact.at) return null;
  const to = { view: "audit", text: peer.replace(/^.*@/, "").replace(/:\d+$/, ""), from: fact.at - 3_600_000, to: fact.at + 60_000 };
  return [" (", h(Link, { to }, "its requests"), ")"];
};

export const Why = ({ overview }) => {
  const page = useContext(Page);
  const { name, at } = page.params;
  const ask = (event) => {
    event.preventDefault();
    page.change({ name: event.target.elements.name.value.trim() });
  };
  return h("div", null,
    h("h2", { id: "why" }, "Why had a topic no route?"),
    h("form", { class: "console-filters", onSubmit: ask },
      h(Field, { label: "Topic" }, h("input", { name: "name", type: "search", defaultValue: name || "", key: name, autocomplete: "off" })),
      h("button", { type: "submit" }, "Say why")),
    name ? h(TopicSlider, { overview, name }) : h(Slider, { overview }),
    name ? h(Explanations, { name, at }) : h(WithoutQueue, { at }));
};

// When the topic had a queue to write to; of an unknown topic, what is known of each name server.
const TopicSlider = ({ overview, name }) => {
  const { older } = useContext(Page).params;
  const { value, isOld } = useAnswer("topic", { name, older }, overview.revision);
  return h("div", { "aria-busy": String(isOld) }, value && value.is_there && value.name === name
    ? h(Slider, { overview, title: "When it had a queue to write to", lanes: value.lanes }) : h(Slider, { overview }),
  value && value.name === name ? h(OlderOfSubject, { value }) : null);
};

// Which topic to ask about: those without a queue to write to are what people ask for.
const WithoutQueue = ({ at }) => {
  const { value, isOld } = useAnswer("topics", { at, only: "unwritable", limit: 20 }, 0);
  return h("div", { "aria-busy": String(isOld) }, h("p", { class: "soft" }, "Give the name of a topic, and move the slider to the time of the error."),
    value && value.rows.length ? [h("h3", null, "Without a queue to write to at that time"),
      h("ul", { class: "found" }, [...new Set(value.rows.map((row) => row.topic))].map((name) => h("li", { key: name }, h(Link, { to: { view: "why", name, at } }, h(Name, { text: name })))))] : null);
};

// It reads the journals, so it is asked when somebody asks, and not at each change.
const Explanations = ({ name, at }) => {
  const [times, setTimes] = useState(0);
  const { value, problem, isOld } = useAnswer("why", { name, at }, times);
  return h("div", { "aria-busy": String(isOld), id: "explanations" },
    h(Wrong, { problem }),
    value && value.near ? h(Missing, { value, what: "a topic" }) : null,
    isOld ? h("p", { class: "soft", role: "status" }, "The journals are being read …") : null,
    value ? value.explanations.map((each) => h("section", { key: each.namesrv, class: "explanation", "data-namesrv": each.namesrv },
      h("h3", null, h(Name, { text: each.namesrv }), " at ", h(Time, { ms: each.at })),
      h("p", { class: `verdict ${each.verdict === "has_route" ? "good" : "bad"}` }, h(Linked, { text: each.summary, links: value.links })),
      h(Facts, { facts: each.facts, links: value.links }),
      each.knows_up_to ? h("p", { class: "soft" }, "knows up to ", h(Time, { ms: each.knows_up_to, plain: true })) : null)) : null,
    value ? value.notes.map((note) => h(Notice, { key: note }, printable(note))) : null,
    value ? h("p", { class: "window" }, h(Link, { to: { view: "topic", name, at } }, "The topic over time"),
      h("button", { type: "button", onClick: () => setTimes(times + 1) }, "Ask again")) : null);
};

const Side = ({ side, overview }) => {
  const page = useContext(Page);
  const params = page.params;
  const at = fromAddress(params[`${side}_at`]);
  return h("fieldset", null, h("legend", null, side === "a" ? "One" : "The other"),
    h(Field, { label: "Name server" }, h("select", { name: side, value: params[side] || "", onChange: (event) => page.change({ [side]: event.target.value }) },
      overview.namesrvs.map((row) => h("option", { value: row.namesrv }, printable(row.namesrv))))),
    h(Field, { label: "Instant (empty: the last that is known)" }, h("input", {
      type: "datetime-local", step: "0.001", name: `${side}_at`, value: at === null ? "" : toField(at),
      onChange: (event) => { const ms = fromField(event.target.value); page.change({ [`${side}_at`]: Number.isNaN(ms) ? undefined : ms }); },
    })),
    overview.first === null ? null : h("input", {
      type: "range", "aria-label": `Instant of ${side === "a" ? "one" : "the other"}`, min: overview.first, max: overview.last, step: 1,
      value: at === null ? overview.last : at, "aria-valuetext": both(at === null ? overview.last : at),
      onInput: (event) => page.change({ [`${side}_at`]: Number(event.target.value) }, { replace: true }),
    }));
};

export const Compare = ({ overview, version }) => {
  const page = useContext(Page);
  const params = page.params;
  const names = overview.namesrvs.map((row) => row.namesrv);
  const a = params.a || names[0];
  const mates = overview.namesrvs.filter((row) => row.namesrv === a).flatMap((row) => row.compared_with);
  const b = params.b || mates[0] || a;
  const { value, problem, isOld } = useAnswer("compare", { a, b, a_at: params.a_at, b_at: params.b_at }, version);
  const filled = { ...page, params: { ...params, a, b } };
  const side = (each) => [h(Name, { text: each.namesrv }), " at ", h(Time, { ms: each.at, plain: true })];
  const cell = (text) => (text === null ? h("span", { class: "differs" }, "has no such thing") : printable(text));
  return h("div", { "aria-busy": String(isOld) },
    h("h2", { id: "compare" }, "Two name servers, or two instants"),
    h(Page.Provider, { value: filled }, h("div", { class: "sides" }, h(Side, { side: "a", overview }), h(Side, { side: "b", overview }))),
    h(Wrong, { problem }),
    value && value.why_not ? h(Notice, null, `They can't be compared: ${printable(value.why_not)}`) : null,
    value && !value.why_not ? h("p", { id: "count", role: "status" },
      value.total ? [h("b", null, `${value.total.toLocaleString("en")} ${value.total === 1 ? "difference" : "differences"}`), " between ", side(value.a), " and ", side(value.b)]
        : [side(value.a), " and ", side(value.b), " agree on everything"],
      value.total > value.rows.length ? `, the first ${value.rows.length} of them:` : "") : null,
    value && value.rows.some((row) => row.part === "broker") ? h("p", { class: "soft" }, "What follows from a broker is not repeated: one that a side lacks is one difference, and not one for each of its topics.") : null,
    value && value.rows.length ? h(Table, {
      label: "Differences", empty: "",
      columns: [{ title: "what" }, { title: "name" }, { title: "detail" },
        { title: `one: ${printable(value.a.namesrv)}` }, { title: `the other: ${printable(value.b.namesrv)}` }],
      rows: value.rows.map((row) => ({
        key: `${row.part} ${row.name} ${row.detail}`,
        cells: [row.part, row.part === "topic" ? h(TopicLink, { name: row.name }) : row.part === "broker" ? h(BrokerLink, { name: row.name }) : h(Name, { text: row.name }),
          printable(row.detail), cell(row.a), cell(row.b)],
      })),
    }) : null);
};

const KINDS = { topic: "Topics", broker: "Broker names", address: "Addresses", cluster: "Clusters", zone: "Zones", peer: "Peers that asked", namesrv: "Name servers" };
// Where the search leads to, for names that have no view of their own.
const PLACES = {
  cluster: (name) => ({ view: "now", btext: name }), zone: (name) => ({ view: "now", btext: name }), peer: (name) => ({ view: "changes", peer: name }),
  namesrv: (name) => ({ view: "changes", namesrv: name }),
};

export const Search = ({ version }) => {
  const page = useContext(Page);
  const { value, problem, isOld } = useAnswer("search", { q: page.params.q }, version);
  if (!page.params.q) return h("p", { class: "soft" }, "Type a part of a name above.");
  const place = (kind, name, older) => (PLACES[kind] ? PLACES[kind](name) : { view: kind === "topic" ? "topic" : "broker", name, older });
  const isEmpty = value && value.kinds.every((each) => each.total === 0);
  const from = value && value.known_from;
  return h("div", { "aria-busy": String(isOld) }, h("h2", { id: "search-results" }, "Found"), h(Wrong, { problem }),
    isEmpty ? h(Notice, null, "Nothing that was ", from === null ? "ever there" : ["there from ", h(Time, { ms: from, plain: true }), " on"], ` has ${printable(page.params.q)} in its name. ${from === null ? "" : NO_ROOM}`) : null,
    value ? value.kinds.filter((each) => each.total).map((each) => h("section", { key: each.kind },
      h("h3", null, `${KINDS[each.kind]}: ${each.total.toLocaleString("en")}`),
      h("ul", { class: "found" }, each.names.map((name) => h("li", { key: name },
        h(Link, { to: place(each.kind, name, each.dropped.includes(name) ? 1 : undefined) }, h(Name, { text: name }))))),
      each.total > each.names.length ? h("p", { class: "soft" }, "… type more of the name to see the others.") : null)) : null,
    value && !isEmpty && from !== null ? h("p", { class: "soft" }, "The search knows all names from ", h(Time, { ms: from, plain: true }), ` on. ${NO_ROOM}`) : null);
};
