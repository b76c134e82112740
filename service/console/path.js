// The path of a flow: its hops in order, coloured by load, where it changed beside each other, and those out of sight.

import { FULL_LOAD, loadColour } from "./colour.js";
import { count } from "./cell.js";
import { apiLink, csvButton, h, panel } from "./dom.js";
import { load, percent, rate } from "./units.js";
import { linkUrl } from "./views.js";

const RANKS = ["tor up", "spine up", "core down", "spine down", "tor down", "tor host"];

/** Sender → hops → receiver; `signals` as the API answers them. */
export function path(answer, signals, range, asked) {
  if (!signals.hops.length) return null;
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
    h("div", { class: "path", role: "region", "aria-label": "Path of the flow" },
      h("div", { class: "stop end" }, h("span", { class: "where" }, "sender"), answer.flow.src),
      ordered.map((hops) => [wire(), h("div", { class: "fork" }, hops.map((one) => stop(one, answer.verdict.hop, range, cells)))]),
      hidden > 0 && [wire(), h("div", { class: "stop unseen" }, h("div", { class: "name" }, count(hidden, "hop")), h("div", { class: "load" }, "out of sight"))],
      wire(), h("div", { class: "stop end" }, h("span", { class: "where" }, "receiver"), answer.flow.dst)));
}

const flat = (one, cells) => ({ hop_index: one.hop_index, device: one.device, interface: one.interface, stage: one.stage, orientation: one.orientation, capacity_bps: one.capacity_bps, u_mean: meanOf(one.u_mean), share_of_time: shareOf(one, cells) });

function note(told, hidden, parts) {
  const sight = parts?.hops ? `${parts.hops_seen} of ${parts.hops} hops in sight` : hidden ? `${count(hidden, "hop")} out of sight` : "";
  const order = told ? "nearest the sender first" : "hops that the signals name, in the order of the topology's stages";
  return [order, sight, "loads as this flow saw them; the verdict has them as all flows did"].filter(Boolean).join("; ");
}

const rank = (one) => { const at = RANKS.indexOf(`${one.stage} ${one.orientation}`); return at < 0 ? RANKS.length : at; };

const wire = () => h("span", { class: "wire", "aria-hidden": "true" });

export const meanOf = (values) => {
  const seen = values.filter((value) => value !== null && value !== undefined);
  return seen.length ? seen.reduce((sum, value) => sum + value, 0) / seen.length : null;
};

const shareOf = (one, cells) => one.u_mean.filter((u) => u !== null).length / cells;

/** One hop; its share of the time is told where it was not on the path all along. */
function stop(one, guilty, range, cells) {
  const mean = meanOf(one.u_mean);
  const here = guilty && one.device === guilty.device && one.interface === guilty.interface;
  const share = shareOf(one, cells);
  return h("a", { class: here ? "stop here" : "stop", href: linkUrl(one, range) },
    h("div", { class: "name" }, `${one.device} ${one.interface}`),
    h("div", { class: "load" }, `u ${load(mean)}`, one.capacity_bps ? ` · ${rate(one.capacity_bps)}` : "", share < 0.995 ? ` · ${percent(share)} of the time` : ""),
    h("div", { class: "bar" }, h("i", { style: { width: `${Math.min(100, ((mean || 0) / FULL_LOAD) * 100)}%`, background: loadColour(mean || 0) } })),
    here && h("div", { class: "tag" }, "bottleneck"));
}
