// Lanes over time, drawn as the report draws them: kinds, shapes and colours are the same.

import { h } from "./preact.js";
import { printable } from "./parts.js";
import { both, ticks } from "./time.js";

const LANES = 24;

const at = (ms, first, last) => `${(100 * Math.min(1, Math.max(0, (ms - first) / Math.max(1, last - first)))).toFixed(3)}%`;
const width = (since, until, first, last) =>
  `${Math.max(0.1, 100 * (Math.min(until, last) - Math.max(since, first)) / Math.max(1, last - first)).toFixed(3)}%`;

const Axis = ({ first, last }) => h("div", { class: "lane" }, h("span", { class: "label" }),
  h("svg", { class: "axis", height: 34, "aria-hidden": "true" }, ticks(first, last).map((tick, index) => {
    const share = (tick.at - first) / Math.max(1, last - first);
    return h("g", { class: index % 2 ? "odd" : "even", "text-anchor": share < 0.12 ? "start" : share > 0.88 ? "end" : "middle" },
      h("line", { class: "tick", x1: at(tick.at, first, last), x2: at(tick.at, first, last), y1: 0, y2: 4 }),
      h("text", { x: at(tick.at, first, last), y: 16 }, tick.time || tick.day),
      tick.time && tick.day ? h("text", { class: "day", x: at(tick.at, first, last), y: 30 }, tick.day) : null);
  })));

const Lane = ({ lane, first, last, shapes, mark }) => h("div", { class: "lane" },
  h("span", { class: "label", title: printable(lane.label) }, h("bdi", null, printable(lane.label).slice(0, 60))),
  h("svg", { height: 20 },
    lane.bars.filter((bar) => bar.until >= first && bar.since <= last).map((bar) => h("rect", {
      class: bar.kind, x: at(bar.since, first, last), y: shapes[bar.kind][0],
      width: width(bar.since, bar.until, first, last), height: shapes[bar.kind][1],
    }, h("title", null, `${bar.text}, ${both(bar.since)} to ${both(bar.until)}`))),
    mark === null ? null : h("line", { class: "mark", x1: at(mark, first, last), x2: at(mark, first, last), y1: 0, y2: 20 })));

export const Legend = ({ kinds, shapes }) => h("ul", { class: "legend" }, kinds.map(([kind, words]) =>
  h("li", { key: kind }, h("svg", { width: 24, height: 20, "aria-hidden": "true" },
    h("rect", { class: kind, x: 1, y: shapes[kind][0], width: 22, height: shapes[kind][1] })), words)));

export const Lanes = ({ title, lanes, first, last, shapes, mark = null, children = null }) => {
  const shown = lanes.slice(0, LANES);
  const kinds = new Map();
  shown.forEach((lane) => lane.bars.forEach((bar) => kinds.set(bar.kind, bar.text.replace(/, id .*/, ""))));
  if (!lanes.some((lane) => lane.bars.length) || first === null) return null;
  return h("figure", null, h("div", { class: "caption" }, h("figcaption", null, title), h(Legend, { kinds: [...kinds], shapes })),
    h("div", { role: "img", "aria-label": title },
      shown.map((lane) => h(Lane, { key: lane.label, lane, first, last, shapes, mark })),
      h(Axis, { first, last })),
    lanes.length > LANES ? h("p", { class: "soft" }, `${lanes.length - LANES} more are not drawn.`) : null,
    children);
};
