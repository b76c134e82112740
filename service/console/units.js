// Numbers as people read them. The API gives plain SI numbers; only this file rounds them.

const NS = 1e9;

/** Load of a hop, two decimals. */
export const load = (u) => (u === null || u === undefined ? "–" : u.toFixed(2));

/** A share that is 100 % in whole percent. */
export const ALL = 0.995;

export function percent(share) {
  if (share === null || share === undefined) return "–";
  if (share > 0 && share < 1 - ALL) return "< 1 %";
  return share >= ALL && share < 1 ? "> 99 %" : `${Math.round(share * 100)} %`;
}

/** Whether a number is told: null is less than 1, too. */
export const numeric = (value) => typeof value === "number";

/** A sentence about the share of a time that live sources did not capture; nothing where that is none. */
export const missed = (captured) =>
  numeric(captured) && captured < 1 ? ` ${captured > ALL ? "< 1 %" : percent(1 - captured)} of this time was not captured: the page Telemetry tells when.` : "";

/** Bytes with a binary prefix. */
export function bytes(value) {
  return value === null || value === undefined ? "–" : scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
}

/** Bits a second with a decimal prefix. */
export function rate(bps) {
  return bps !== null && bps !== undefined ? scaled(bps, 1000, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]) : "–";
}

function scaled(value, step, names) {
  let rank = 0;
  while (Math.abs(value) >= step && rank < names.length - 1) { value /= step; rank += 1; }
  return `${Number(value.toPrecision(3))} ${names[rank]}`;
}

/** A number of an axis: three digits and a prefix. */
export function short(value, unit = "") {
  const [size, prefix] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([least]) => Math.abs(value) >= least) || [1, ""];
  return `${Number((value / size).toPrecision(3))}${prefix || unit ? ` ${prefix}${unit}` : ""}`;
}

/** A length of time from nanoseconds. */
export function span(ns) {
  if (ns === null || ns === undefined) return "–";
  const [size, name] = [[86400e9, "d"], [3600e9, "h"], [60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"]]
    .find(([unit]) => ns >= unit) || [1, "ns"];
  return `${Number((ns / size).toPrecision(3))} ${name}`;
}

/** How long after the start shown; what began before it, or with it, says so. */
export const after = (ns) => (ns <= 0 ? "the start" : `+${span(ns)}`);

/** A moment, in UTC, to the microsecond where the span on show is short. */
export function moment(ns, spanNs = 0) {
  // A number of 19 digits is off by some hundred ns: whole microseconds are what it surely tells.
  const whole = Math.round(ns / 1e3);
  const text = new Date(Math.floor(whole / 1e3)).toISOString();
  const day = text.slice(0, 10);
  const clock = text.slice(11, 19);
  if (spanNs >= 60 * NS) return `${day} ${clock}`;
  const micro = String(whole % 1e6).padStart(6, "0");
  return `${day} ${clock}.${micro.slice(0, spanNs && spanNs < 1e7 ? 6 : 3)}`;
}

/** How to draw a time axis that covers `spanNs`: unit size in ns and its name. */
export function axis(spanNs) {
  if (spanNs < 5e6) return { size: 1e3, name: "µs" };
  if (spanNs < 5e9) return { size: 1e6, name: "ms" };
  if (spanNs < 600e9) return { size: 1e9, name: "s" };
  return { size: 60e9, name: "min" };
}

export const PROTOCOL = { 1: "ICMP", 6: "TCP", 17: "UDP", 50: "ESP", 51: "AH", 58: "ICMPv6", 132: "SCTP" };

/** One end of a flow as it is typed: 10.0.0.1:5001 or [2001:db8::1]:5001. */
export const end = (address, port) => (address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`);

/** Kind of a bottleneck in words. Kinds that are missing here are shown with spaces for underscores. */
export const kind = (name) => (name || "unknown").replaceAll("_", " ");
