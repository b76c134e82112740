// The verdict of a flow: a sentence, its facts, doubts, and where the bottleneck was when.

import { apiLink, csvButton, h, panel } from "./dom.js";
import { inkOn, NAMES } from "./colour.js";
import { ticks } from "./heat.js";
import { after, ALL, bytes, kind, load, moment, percent, span } from "./units.js";

const CALM = ["not_congested", "sender_limited", "unknown"];

export function verdict(answer, asked) {
  const best = answer.verdict;
  const held = !CALM.includes(best.kind);
  const since = best.since_ns === null ? "–" : best.since_exact ? after(best.since_ns - answer.interval.from_ns) : "before this";
  const facts = [
    ["Load, mean", load(best.u_mean)], ["Load, peak", load(best.u_max)], ["Queue, mean", bytes(best.queue_mean_bytes)],
    ["Since", since], ["Shared by", best.contributors ? `${best.contributors} flows` : "–"], ["Rerouting helps", best.reroute_helps],
    ["Revised", best.parts?.revised ? `${best.parts.revised} of ${best.intervals} by late frames` : null],
    ["Confidence", percent(best.confidence)], ["Completeness", percent(best.completeness)], ["Feedback", answer.integrity?.value], ["Samples", best.samples],
  ];
  return h("section", { class: "panel", "aria-label": "Verdict" },
    h("header", null, h("h2", null, "Verdict"),
      h("span", { class: held ? "chip hot" : "chip calm" }, kind(best.kind)),
      h("span", { class: "tools" }, apiLink("/flows/bottleneck", asked))),
    h("div", { class: "body" },
      h("p", { class: "sentence" }, best.sentence),
      (best.doubts || []).map((words) => h("p", { class: "note" }, `To be borne in mind: ${words}.`)),
      answer.notes.map((text) => h("p", { class: "aside" }, text)),
      h("dl", { class: "facts" }, facts.filter(([term, value]) => term !== "Revised" || value).map(([term, value]) => h("div", null, h("dt", null, term), h("dd", null, value ?? "–"))))));
}

const placeName = (piece) => (piece.hop ? piece.hop.name : kind(piece.kind));

const flat = (piece) => ({ ...piece, hop: piece.hop ? piece.hop.name : "" });

/** Stretches of time by their bottleneck. */
export function history(answer, asked) {
  if (!answer.history.length) return null;
  const { from_ns: from, to_ns: to } = answer.interval;
  const length = to - from;
  const names = [...new Set(answer.history.filter((piece) => piece.hop).map(placeName))];
  const colour = (piece) => (piece.hop ? NAMES[names.indexOf(placeName(piece)) % NAMES.length] : "transparent");
  const blank = (ns) => h("div", { class: "piece", style: { flex: `${ns} 0 0` }, title: "no verdict" });
  const pieces = [];
  let at = from;
  for (const piece of answer.history) {
    if (piece.from_ns > at) pieces.push(blank(piece.from_ns - at));
    pieces.push(h("div", { class: "piece", style: { flex: `${piece.to_ns - piece.from_ns} 0 0`, background: colour(piece), color: piece.hop ? inkOn(colour(piece)) : "inherit" },
      title: `${moment(piece.from_ns, 1)} to ${moment(piece.to_ns, 1)}\n${piece.sentence}\nmean load ${load(piece.u_mean)}\n${percent(piece.covered)} judged` },
    (piece.to_ns - piece.from_ns) / length > 0.08 ? placeName(piece) : ""));
    at = piece.to_ns;
  }
  if (at < to) pieces.push(blank(to - at));
  return panel("History", `${answer.history.length} ${answer.history.length === 1 ? "stretch" : "stretches"}`, [csvButton("history", () => answer.history.map(flat)), apiLink("/flows/bottleneck", asked)],
    h("div", { class: "body" }, h("div", { class: "lane", role: "img", "aria-label": answer.history.map((piece) => `${placeName(piece)} for ${span(piece.to_ns - piece.from_ns)}`).join(", ") }, pieces),
      ticks(from, length),
      names.length > 0 && h("div", { class: "keys" }, names.map((text, i) => h("span", null, h("i", { style: { background: NAMES[i % NAMES.length] } }), text))),
      changes(answer)));
}

const MOST_CHANGES = 20;

/** What changed when, the last changes in words. */
function changes(answer) {
  const told = answer.history.slice(-MOST_CHANGES);
  const earlier = answer.history.length - told.length;
  return h("ol", { class: "changes" },
    earlier > 0 && h("li", { class: "quiet" }, `${earlier} earlier; the API has all`),
    told.map((piece) => h("li", null, after(Math.max(0, piece.from_ns - answer.interval.from_ns)), ", ", piece.sentence.replaceAll("_", " "),
      piece.covered < ALL && h("span", { class: "quiet" }, ` (${percent(piece.covered)} judged)`),
      piece.revised > 0 && h("span", { class: "quiet" }, ` (${piece.revised} revised by late frames)`))));
}
