// One flow: the verdict in a sentence, its path, how it changed, its signals, and the evidence.

import { address, get } from "./api.js";
import { csvButton, empty, h, panel } from "./dom.js";
import { after, bytes, end, kind, load, moment, percent, PROTOCOL, span } from "./units.js";
import { confidence, hop as hopCell, meter } from "./overview.js";
import { FULL_LOAD, inkOn, loadColour, NAMES } from "./colour.js";
import { during, flowUrl, linkUrl, rangeOf } from "./views.js";
import { stack } from "./chart.js";

const CALM = ["not_congested", "sender_limited", "unknown"];
const FIELDS = ["src", "dst", "proto", "at", "window", "tenant", "vrf", "vni", "point"];

export async function flow(parameters) {
  const asked = Object.fromEntries(FIELDS.map((name) => [name, parameters.get(name)]));
  const [answer, signals] = await Promise.all([get("/flows/bottleneck", asked), get("/flows/signals", asked)]);
  const place = answer.verdict.hop;
  const users = place && await get("/links/flows", { device: place.device, interface: place.interface, ...rangeOf(answer.interval) });
  const chart = h("div", { class: "chart" });
  const name = `${end(answer.flow.src, answer.flow.sport)} → ${end(answer.flow.dst, answer.flow.dport)}`;
  return {
    title: name,
    interval: answer.interval,
    body: h("div", null,
      h("p", { class: "crumb" }, h("a", { href: "#/" }, "Overview"), " / flow"),
      h("h1", { class: "mono" }, name, " ", h("span", { class: "where" }, PROTOCOL[answer.flow.protocol] || answer.flow.protocol)),
      verdict(answer, asked),
      path(answer, signals, rangeOf(answer.interval)),
      history(answer),
      panel("Signals", "one time axis", [csvButton("signals", () => signalRows(signals)), h("a", { href: address("/flows/signals", asked) }, "API")], chart),
      evidence(answer),
      sharing(answer, users)),
    drawn: async () => {
      const any = await stack(chart, signals.interval, signalLines(signals));
      if (!any) chart.replaceChildren(empty("No signals in this time", "Neither telemetry nor acknowledgements were seen for this flow here. A longer window may hold some."));
    },
  };
}

function verdict(answer, asked) {
  const best = answer.verdict;
  const held = !CALM.includes(best.kind);
  const since = best.since_ns === null ? "–" : best.since_exact ? after(best.since_ns - answer.interval.from_ns) : "before this";
  const facts = [
    ["Load, mean", load(best.u_mean)], ["Load, peak", load(best.u_max)], ["Queue, mean", bytes(best.queue_mean_bytes)],
    ["Since", since], ["Shared by", best.contributors ? `${best.contributors} flows` : "–"], ["Rerouting helps", best.reroute_helps],
    ["Confidence", percent(best.confidence)], ["Completeness", percent(best.completeness)], ["Samples", best.samples],
  ];
  return h("section", { class: "panel", "aria-label": "Verdict" },
    h("header", null, h("h2", null, "Verdict"),
      h("span", { class: held ? "chip hot" : "chip calm" }, kind(best.kind)),
      h("span", { class: "tools" }, h("a", { href: address("/flows/bottleneck", asked) }, "API"))),
    h("div", { class: "body" },
      h("p", { class: "sentence" }, best.sentence),
      [...(best.doubts || []).map((words) => `The telemetry cannot be quite right: ${words}.`), ].map((text) => h("p", { class: "note" }, text)),
      answer.notes.map((text) => h("p", { class: "aside" }, text)),
      h("dl", { class: "facts" }, facts.map(([term, value]) => h("div", null, h("dt", null, term), h("dd", null, value ?? "–"))))));
}

/** The hops in the order that the data passes them, coloured by mean load. */
function path(answer, signals, range) {
  if (!signals.hops.length) return null;
  const stops = signals.hops.map((one) => {
    const seen = one.u_mean.filter((u) => u !== null);
    const mean = seen.length ? seen.reduce((sum, u) => sum + u, 0) / seen.length : null;
    const here = answer.verdict.hop && one.device === answer.verdict.hop.device && one.interface === answer.verdict.hop.interface;
    return [h("span", { class: "wire" }), h("a", { class: here ? "stop here" : "stop", href: linkUrl(one, range) },
      h("div", { class: "name" }, `${one.device} ${one.interface}`),
      h("div", { class: "load" }, here ? `bottleneck · u ${load(mean)}` : `u ${load(mean)}`),
      h("div", { class: "bar" }, h("i", { style: { width: `${Math.min(100, ((mean || 0) / FULL_LOAD) * 100)}%`, background: loadColour(mean || 0) } })))];
  });
  return panel("Path", signals.hops[0].hop_index === null ? "hops that the signals name; this telemetry does not tell their order" : "hops that reported, nearest the sender first", [],
    h("div", { class: "path" }, h("div", { class: "stop end" }, answer.flow.src), stops, h("span", { class: "wire" }), h("div", { class: "stop end" }, answer.flow.dst)));
}

const placeName = (piece) => (piece.hop ? piece.hop.name : kind(piece.kind));

function history(answer) {
  if (!answer.history.length) return null;
  const { from_ns: from, to_ns: to } = answer.interval;
  const length = to - from;
  const names = [...new Set(answer.history.filter((piece) => piece.hop).map(placeName))];
  const colour = (piece) => (piece.hop ? NAMES[names.indexOf(placeName(piece)) % NAMES.length] : "transparent");
  const pieces = [];
  let at = from;
  for (const piece of answer.history) {
    if (piece.from_ns > at) pieces.push(h("div", { class: "piece", style: { flex: `${piece.from_ns - at} 0 0` }, title: "no verdict" }));
    const share = (piece.to_ns - piece.from_ns) / length;
    pieces.push(h("div", { class: "piece", style: { flex: `${piece.to_ns - piece.from_ns} 0 0`, background: colour(piece), color: piece.hop ? inkOn(colour(piece)) : "inherit" },
      title: `${moment(piece.from_ns, 1)} to ${moment(piece.to_ns, 1)}\n${piece.sentence}\nmean load ${load(piece.u_mean)}` },
    share > 0.08 ? placeName(piece) : ""));
    at = piece.to_ns;
  }
  if (at < to) pieces.push(h("div", { class: "piece", style: { flex: `${to - at} 0 0` } }));
  return panel("History", `${answer.history.length} ${answer.history.length === 1 ? "stretch" : "stretches"}`, [],
    h("div", { class: "body" }, h("div", { class: "lane", role: "img", "aria-label": answer.history.map((piece) => `${placeName(piece)} for ${span(piece.to_ns - piece.from_ns)}`).join(", ") }, pieces),
      h("div", { class: "ticks" }, [0, 0.25, 0.5, 0.75, 1].map((share) => h("span", null, share ? `+${span(share * length)}` : moment(from, length)))),
      h("div", { class: "keys" }, names.map((text, i) => h("span", null, h("i", { style: { background: NAMES[i % NAMES.length] } }), text)))));
}

function signalLines(signals) {
  const line = (name, key, colour, more) => ({ name, times_ns: signals.times_ns, values: signals.signals[key] || [], colour, ...more });
  return [
    { title: "U, normalised inflight", unit: "", lines: [line("U (HPCC++)", "U", NAMES[0])], mark: signals.eta ? { at: signals.eta, text: `eta ${signals.eta}` } : null },
    { title: "Load u of each hop", unit: "", mark: { at: 1, text: "capacity" }, lines: signals.hops.map((one, i) => ({ name: `${one.device} ${one.interface}`, times_ns: signals.times_ns, values: one.u_mean, colour: NAMES[(i + 1) % NAMES.length] })) },
    { title: "Window, bytes", unit: "B", lines: [line("W", "W", NAMES[0]), line("Wc", "Wc", NAMES[1], { dash: "dot" }), line("in flight", "inflight_bytes", NAMES[7])] },
    { title: "alpha (DCTCP)", unit: "", share: true, lines: [line("alpha", "alpha", NAMES[2], { step: true })] },
    { title: "Marks, share", unit: "", share: true, lines: [line("bytes acknowledged with ECE", "mark_share", NAMES[5]), line("frames with CE", "ce_share", NAMES[3])] },
    { title: "Path load by AECN", unit: "", mark: { at: 1, text: "capacity" }, lines: [line("mean", "aecn_u_mean", NAMES[4]), line("peak", "aecn_u_max", NAMES[1], { dash: "dot" })] },
    { title: "Rate, bit/s", unit: "bit/s", lines: [line("data", "rate_bps", NAMES[4])] },
  ];
}

function signalRows(signals) {
  const columns = Object.entries(signals.signals);
  return signals.times_ns.map((time_ns, i) => ({
    time_ns,
    ...Object.fromEntries(columns.map(([name, values]) => [name, values[i]])),
    ...Object.fromEntries(signals.hops.map((one) => [`u ${one.device} ${one.interface}`, one.u_mean[i]])),
  }));
}

function evidence(answer) {
  if (!answer.evidence.length && !answer.candidates.length) return null;
  const columns = ["Signal", "What", "Value", "Samples", "Of the time at this hop", "Seen at"];
  const flat = (rows) => rows.map((row) => ({ ...row, hop: row.hop ? row.hop.name : "", points: (row.points || []).join(" ") }));
  return panel("Evidence", "what speaks for the verdict, and where else the signals point", [csvButton("evidence", () => flat([...answer.evidence, ...answer.candidates]))],
    h("div", { class: "scroll" }, h("table", { class: "list" }, head(columns),
      h("tbody", null, answer.evidence.map((row) => h("tr", null,
        h("td", null, SIGNAL[row.signal] || row.signal), h("td", null, row.name),
        h("td", { class: "num" }, quantity(row.value, row.unit)),
        h("td", { class: "num" }, row.samples), h("td", { class: "num" }, percent(row.share)), h("td", { class: "where" }, row.points.join(", "))))))),
    answer.candidates.length && h("div", { class: "scroll" }, h("table", { class: "list" }, head(["Signal", "Candidate hop", "Mean load", "Probability", "Samples"]),
      h("tbody", null, answer.candidates.map((row) => h("tr", null,
        h("td", null, SIGNAL[row.signal] || row.signal), h("td", { class: "hop" }, row.hop ? hopCell(row.hop) : "–"),
        h("td", null, meter(row.u_mean)), h("td", null, confidence(row.probability)), h("td", { class: "num" }, row.samples)))))));
}

const SIGNAL = { int: "INT", csig: "CSIG", aecn: "AECN", ecn: "ECN marks", state: "sender's state" };

const head = (columns) => h("thead", null, h("tr", null, columns.map((text) => h("th", { scope: "col" }, text))));

function quantity(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "bytes") return bytes(value);
  return Number(value.toPrecision(4)) + (unit === "ratio" ? "" : ` ${unit}`);
}

/** The other flows on the hop that holds this one back: who to talk to. */
function sharing(answer, users) {
  const others = users ? users.flows.filter((other) => other.flow !== answer.flow.flow) : [];
  if (!others.length) return null;
  return panel("Flows that share the hop", `${others.length} at ${answer.verdict.hop.name}`, [csvButton("sharing", () => others)],
    h("div", { class: "scroll" }, h("table", { class: "list" }, head(["Flow", "Sent", "Load it saw there", "Mostly held back there"]),
      h("tbody", null, others.map((other) => h("tr", null,
        h("td", { class: "flow" }, h("a", { href: flowUrl(other, during(answer.interval)) }, end(other.src, other.sport), h("span", { class: "arrow" }, "→"), end(other.dst, other.dport))),
        h("td", { class: "num" }, bytes(other.data_bytes)), h("td", null, meter(other.u_mean)),
        h("td", null, other.held_back ? h("span", { class: "chip hot" }, "yes") : h("span", { class: "quiet" }, "no"))))))));
}
