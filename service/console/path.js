// The path of a flow: its hops in order, coloured by load, where it changed beside each other, and those out of sight.

import { FULL_LOAD, loadColour } from "./colour.js";
import { count } from "./cell.js";
import { apiLink, csvButton, h, panel } from "./dom.js";
import { ALL, load, percent, rate } from "./units.js";
import { linkUrl } from "./views.js";

const RANKS = ["tor up", "spine up", "core down", "spine down", "tor down", "tor host"];

const SILENT = "no telemetry of this flow names hops of its own: Advanced ECN and marks tell of the path as a whole; the hop is the one that loads of other flows and the topology leave";

/** Sender → hops → receiver; `signals` as the API answers them. */
export function path(answer, signals, range, asked) {
  if (!signals.hops.length) return unnamed(answer, range, asked);
  const told = signals.hops.every((one) => one.hop_index !== null);
  const places = new Map();
  for (const one of signals.hops) {
    const key = told ? one.hop_index : rank(one);
    places.set(key, [...(places.get(key) || []), one]);
  }
  const ordered = [...places.entries()].sort(([a], [b]) => a - b).map(([, hops]) => hops);
  const cells = signals.times_ns.length;
  const hidden = answer.verdict.parts?.hops_out_of_sight || 0;
  return panel("Path", note(told, hidden, answer.verdict.parts), [csvButton("path", () => ordered.flat().map((one) => flat(one, cells))), apiLink("/flows/signals", asked)],
    way(answer, told, [
      ...ordered.map((hops) => h("div", { class: "fork" }, hops.map((one) => stop(one, answer.verdict.hop, range, cells)))),
      ...(hidden > 0 ? [unseen(count(hidden, "hop"), "out of sight")] : []),
    ]));
}

/** Of a flow whose hops nothing names: the hop of the verdict alone. */
function unnamed(answer, range, asked) {
  const hop = answer.verdict.hop;
  return panel("Path", SILENT, [apiLink("/flows/signals", asked)],
    way(answer, false, [hop ? box(hop, true, range, answer.verdict.u_mean, 1) : unseen("hops", "not named")]));
}

/** Sender, stops and receiver; `sure` that nothing lies between them. */
function way(answer, sure, stops) {
  const end = (where, address) => h("div", { class: "stop end" }, h("span", { class: "where" }, where), address);
  return h("div", { class: "path", role: "region", "aria-label": "Path of the flow" },
    end("sender", answer.flow.src), stops.map((each) => [wire(sure), each]), wire(sure), end("receiver", answer.flow.dst));
}

const unseen = (name, why) => h("div", { class: "stop unseen" }, h("div", { class: "name" }, name), h("div", { class: "load" }, why));

const flat = (one, cells) => ({ hop_index: one.hop_index, device: one.device, interface: one.interface, stage: one.stage, orientation: one.orientation, capacity_bps: one.capacity_bps, u_mean: meanOf(one.u_mean, one.samples), share_of_time: shareOf(one, cells) });

function note(told, hidden, parts) {
  const sight = parts?.hops ? `${parts.hops_seen} of ${parts.hops} hops in sight` : hidden ? `${count(hidden, "hop")} out of sight` : "";
  const order = told ? ["nearest the sender first", sight]
    : ["hops that tags named, each for its share of the time, in the order of the topology's stages", "a tag names the worst hop of its way, so that others may lie between, and these may be of several ways"];
  return [...order, "loads are means over this flow's packets; the verdict's is over time"].filter(Boolean).join("; ");
}

const rank = (one) => { const at = RANKS.indexOf(`${one.stage} ${one.orientation}`); return at < 0 ? RANKS.length : at; };

const wire = (sure) => h("span", { class: sure ? "wire" : "wire unsure", "aria-hidden": "true" });

/** The mean of values, each with its weight; null where there is none. */
export const meanOf = (values, weights) => {
  const seen = values.map((value, i) => [value, weights[i] || 0]).filter(([value]) => value !== null && value !== undefined);
  const weight = seen.reduce((sum, [, each]) => sum + each, 0);
  return weight ? seen.reduce((sum, [value, each]) => sum + value * each, 0) / weight : null;
};

const shareOf = (one, cells) => one.u_mean.filter((u) => u !== null).length / cells;

function stop(one, guilty, range, cells) {
  const here = guilty && one.device === guilty.device && one.interface === guilty.interface;
  return box(one, here, range, meanOf(one.u_mean, one.samples), shareOf(one, cells));
}

/** One hop; its share of the time is told where it was not on the path all along. */
function box(one, here, range, mean, share) {
  return h("a", { class: here ? "stop here" : "stop", href: linkUrl(one, range) },
    h("div", { class: "name" }, `${one.device} ${one.interface}`),
    h("div", { class: "load" }, `u ${load(mean)}`, one.capacity_bps ? ` · ${rate(one.capacity_bps)}` : "", share < ALL ? ` · ${percent(share)} of the time` : ""),
    h("div", { class: "bar" }, h("i", { style: { width: `${Math.min(100, ((mean || 0) / FULL_LOAD) * 100)}%`, background: loadColour(mean || 0) } })),
    here && h("div", { class: "tag" }, "bottleneck"));
}
