// Every view is a URL: #/ (overview), #/flow?src=…&dst=…, #/link?device=…&interface=…, #/find?q=…, #/fabric,
// #/te?by=…, #/telemetry, #/replay?src=…&dst=…, #/alerts, #/captures; parameters say what is shown, so that it can be shared.

import { exact } from "./api.js";
import { end } from "./units.js";

/** The coarsest that a number of JavaScript tells a time of these years to, ns. */
const COARSE = 256n;

/** A moment of an interval to the nanosecond; where a browser tells it coarser, a little outside, so that no frame is left out. */
function edge(interval, key, outward) {
  const told = exact(interval, key);
  return typeof told === "string" || Number.isSafeInteger(told) ? BigInt(told) : BigInt(told) + outward * COARSE;
}

const begin = (interval) => edge(interval, "from_ns", -1n);
const over = (interval) => edge(interval, "to_ns", 1n);

const hash = (path, parameters) => {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return `#${path}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
};

export const flowUrl = (flow, more = {}) => hash("/flow", {
  src: end(flow.src, flow.sport), dst: end(flow.dst, flow.dport), proto: flow.protocol,
  tenant: flow.tenant, vrf: flow.vrf, vni: flow.vni || undefined, ...more,
});

export const linkUrl = (link, range = {}) => hash("/link", { device: link.device, interface: link.interface, ...range });

export const fabricUrl = (more = {}) => hash("/fabric", more);

export const teUrl = (more = {}) => hash("/te", more);

export const telemetryUrl = (more = {}) => hash("/telemetry", more);

export const replayUrl = (more = {}) => hash("/replay", more);

export const overviewUrl = (range) => hash("/", range);

/** Parameters by which a flow's page looks at the same time as a page that covers `interval`. */
export const during = (interval) => ({ at: String(over(interval)), window: `${over(interval) - begin(interval)}ns` });

/** How long a time without an end is: as long as one of which nothing is said. */
const WINDOW_NS = 10000000000n;

/** The same of an address that says from when to when, as those of other pages do; what is no time the service refuses. */
export function between(parameters) {
  const [from, to] = ["from", "to"].map((name) => parameters.get(name));
  if (!from) return to ? { at: to } : {};
  const [first, last] = [from, to || ""].map(nanoseconds);
  if (!to) return first === null ? { at: from } : { at: String(first + WINDOW_NS), window: `${WINDOW_NS}ns` };
  return first === null || last === null || last <= first ? { at: first === null ? from : to, window: "0ns" } : { at: to, window: `${last - first}ns` };
}

/** A moment as it may be typed, in nanoseconds; null: it is none. As the service reads it, UTC where no zone is told. */
export function nanoseconds(text) {
  if (/^\d{16,19}$/.test(text)) return BigInt(text);
  const [, seconds, decimals = ""] = text.match(/^(\d{1,10})(?:\.(\d{1,9}))?$/) || [];
  if (seconds) return BigInt(seconds + decimals.padEnd(9, "0"));
  // Of other texts a browser makes some moment where it can.
  const milliseconds = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(/[T ][\d:.]+$/.test(text) ? `${text}Z` : text) : NaN;
  return Number.isNaN(milliseconds) ? null : BigInt(milliseconds) * 1000000n;
}

/** The same for a link's page. */
export const rangeOf = (interval) => ({ from: String(begin(interval)), to: String(over(interval)) });

export const findUrl = (text, filter) => hash("/find", { q: text, filter });

export const filterUrl = (filter) => hash("/find", { filter });

/** Whether a text is of the filter language: it begins with a field and a sign or word of comparison. */
export const isFilter = (text) => /^[\s(]*(not[\s(]+)*[a-z_]+(\.[a-z0-9_]+)?\s*([=<>~]|!=|!~|\s(not\s+)?in\b|\sis\b)/i.test(text);

/** Writes what a view shows into its address, as long as nobody has left it; asked for before the view waits. */
export function addressed() {
  let own = location.hash;
  return (url) => {
    if (location.hash !== own) return;
    history.replaceState(null, "", url);
    own = location.hash;
  };
}

/** Split location.hash into its path and parameters. */
export function current() {
  const [path, query] = location.hash.replace(/^#/, "").split("?");
  return { path: path || "/", parameters: new URLSearchParams(query || "") };
}
