// What tables show in a cell: a flow, a hop, a load, a probability. Never by colour alone.

import { FULL_LOAD, loadColour } from "./colour.js";
import { h } from "./dom.js";
import { end, load, percent, PROTOCOL, rate } from "./units.js";
import { flowUrl, linkUrl } from "./views.js";

/** A flow as a link to its page; its protocol behind it where that is asked for. */
export function flowCell(flow, more = {}, { protocol = true } = {}) {
  return h("td", { class: "flow" }, h("a", { href: flowUrl(flow, more) }, end(flow.src, flow.sport),
    h("span", { class: "arrow" }, "→"), end(flow.dst, flow.dport)),
  protocol && [" ", h("span", { class: "where" }, PROTOCOL[flow.protocol] || flow.protocol)]);
}

/** A hop by its names, as a link to its page, with what the topology says of it. */
export function hop(place, range = {}) {
  if (!place || !place.device) return h("span", { class: "quiet" }, "unknown");
  return [h("a", { href: linkUrl(place, range) }, `${place.device} ${place.interface}`), h("div", { class: "where" }, described(place))];
}

/** What the topology says of a hop, in a few words. */
export function described(place) {
  return [place.stage, place.orientation, place.capacity_bps && rate(place.capacity_bps)].filter(Boolean).join(" · ");
}

/** Load as a bar with a line at 1.0, and as a number. */
export function meter(u) {
  if (u === null || u === undefined) return h("span", { class: "quiet" }, "not measured");
  return h("span", { class: "meter" },
    h("span", { class: "track", "aria-hidden": "true" },
      h("span", { class: "fill", style: { width: `${Math.min(100, (u / FULL_LOAD) * 100)}%`, background: u > 1 ? "var(--over)" : "var(--under)" } }),
      h("span", { class: "one", style: { left: `${100 / FULL_LOAD}%` } })),
    h("span", { class: "num" }, load(u)));
}

/** A probability as five dots and a number. */
export function confidence(value) {
  const full = Math.round((value || 0) * 5);
  return h("span", { class: "sure" }, h("span", { class: "dots", "aria-hidden": "true" }, "●".repeat(full) + "○".repeat(5 - full)), " ", h("span", { class: "num" }, percent(value)));
}

/** Loads over time as a strip of cells, for a table. */
export function strip(values) {
  return h("span", { class: "strip", role: "img", "aria-label": `load over time: ${values.map((u) => (u === null ? "none" : load(u))).join(", ")}` },
    values.map((u) => h("i", { class: u === null ? "gap" : u > 1 ? "hot" : null, style: u === null ? {} : { background: loadColour(u) } })));
}

export const chip = (hot, text) => h("span", { class: hot ? "chip hot" : "chip" }, text);

/** The head of a table; names of columns that hold numbers end with "#". */
export const head = (columns) => h("thead", null, h("tr", null, columns.map((text) => h("th", { scope: "col", class: text.endsWith("#") ? "right" : null }, text.replace(/#$/, "")))));

export const right = (text, more = {}) => h("td", { class: "num right", ...more }, text);

/** How many, with the noun in the right number. */
export const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
