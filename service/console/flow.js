// One flow: the verdict in a sentence, its path, how it changed, its signals, and the evidence.

import { address, get } from "./api.js";
import { csvButton, empty, h, panel } from "./dom.js";
import { bytes, end, kind, load, moment, percent, PROTOCOL, span } from "./units.js";
import { confidence, hop as hopCell } from "./overview.js";
import { loadColour, NAMES } from "./colour.js";
import { flowUrl, linkUrl } from "./views.js";
import { stack } from "./chart.js";

const FIELDS = ["src", "dst", "proto", "at", "window", "tenant", "vrf", "vni", "point"];

export async function flow(parameters) {
  const asked = Object.fromEntries(FIELDS.map((name) => [name, parameters.get(name)]));
  const [answer, signals] = await Promise.all([get("/flows/bottleneck", asked), get("/flows/signals", asked)]);
  const chart = h("div", { class: "chart" });
  const name = `${end(answer.flow.src, answer.flow.sport)} → ${end(answer.flow.dst, answer.flow.dport)}`;
  return {
    title: name,
    interval: answer.interval,
    body: h("div", null,
      h("p", { class: "crumb" }, h("a", { href: "#/" }, "Overview"), " / flow"),
      h("h1", { class: "mono" }, name, " ", h("span", { class: "where" }, PROTOCOL[answer.flow.protocol] || answer.flow.protocol)),
      verdict(answer, asked),
      path(answer, signals),
      history(answer),
      panel("Signals", "one time axis", [csvButton("signals", () => signalRows(signals)), h("a", { href: address("/flows/signals", asked) }, "API")], chart),
      evidence(answer),
      sharing(answer)),
    drawn: async () => {
      const any = await stack(chart, signals.interval, signalLines(signals));
      if (!any) chart.replaceChildren(empty("No signals in this time", "Neither telemetry nor acknowledgements were seen for this flow here. A longer window may hold some."));
    },
  };
}

function verdict(answer, asked) {
  const best = answer.verdict;
  const facts = [
    ["Load, mean", load(best.u_mean)], ["Load, peak", load(best.u_max)], ["Queue, mean", bytes(best.queue_mean_bytes)],
    ["Confidence", percent(best.confidence)], ["Completeness", percent(answer.completeness)],
    ["Rerouting helps", best.reroute_helps || "unknown"], ["Samples", best.samples],
  ];
  return h("section", { class: "panel", "aria-label": "Verdict" },
    h("header", null, h("h2", null, "Verdict"),
      h("span", { class: best.congested ? "chip hot" : "chip calm" }, kind(best.kind)),
      h("span", { class: "tools" }, h("a", { href: address("/flows/bottleneck", asked) }, "API"))),
    h("div", { class: "body" },
      h("p", { class: "sentence" }, answer.sentence),
      h("dl", { class: "facts" }, facts.map(([term, value]) => h("div", null, h("dt", null, term), h("dd", null, value ?? "–"))))));
}

/** The hops in the order that the data passes them, coloured by mean load. */
function path(answer, signals) {
  if (!signals.hops.length) return null;
  const stops = signals.hops.map((one) => {
    const seen = one.u_mean.filter((u) => u !== null);
    const mean = seen.length ? seen.reduce((sum, u) => sum + u, 0) / seen.length : null;
    const here = answer.verdict.hop && one.device === answer.verdict.hop.device && one.interface === answer.verdict.hop.interface;
    return [h("span", { class: "wire" }), h("a", { class: here ? "stop here" : "stop", href: linkUrl(one) },
      h("div", { class: "name" }, `${one.device} ${one.interface}`),
      h("div", { class: "load" }, here ? `bottleneck · u ${load(mean)}` : `u ${load(mean)}`),
      h("div", { class: "bar" }, h("i", { style: { width: `${Math.min(100, ((mean || 0) / 1.5) * 100)}%`, background: loadColour(mean || 0) } })))];
  });
  return panel("Path", "hops that reported, nearest the sender first", [],
    h("div", { class: "path" }, h("div", { class: "stop end" }, answer.flow.src), stops, h("span", { class: "wire" }), h("div", { class: "stop end" }, answer.flow.dst)));
}

const placeName = (piece) => (piece.hop ? `${piece.hop.device} ${piece.hop.interface}` : "no bottleneck");

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
    pieces.push(h("div", { class: "piece", style: { flex: `${piece.to_ns - piece.from_ns} 0 0`, background: colour(piece), color: piece.hop ? "#10161f" : "inherit" },
      title: `${moment(piece.from_ns, 1)} to ${moment(piece.to_ns, 1)}\n${placeName(piece)}, ${kind(piece.kind)}, mean load ${load(piece.u_mean)}` },
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
  const line = (name, key, colour, more) => ({ name, times_ns: signals.times_ns, values: signals[key] || [], colour, ...more });
  return [
    { title: "U, normalised inflight", unit: "", lines: [line("U (HPCC++)", "U", NAMES[0])], mark: signals.eta ? { at: signals.eta, text: `eta ${signals.eta}` } : null },
    { title: "Load u of each hop", unit: "", mark: { at: 1, text: "capacity" }, lines: signals.hops.map((one, i) => ({ name: `${one.device} ${one.interface}`, times_ns: signals.times_ns, values: one.u_mean, colour: NAMES[(i + 1) % NAMES.length] })) },
    { title: "Window, bytes", unit: "B", lines: [line("W", "W", NAMES[0]), line("Wc", "Wc", NAMES[1], { dash: "dot" }), line("in flight", "inflight_bytes", NAMES[7])] },
    { title: "alpha (DCTCP)", unit: "", share: true, lines: [line("alpha", "alpha", NAMES[2], { step: true })] },
    { title: "Marks, share", unit: "", share: true, lines: [line("bytes acknowledged with ECE", "mark_share", NAMES[5]), line("frames with CE", "ce_share", NAMES[3])] },
    { title: "CSIG and AECN", unit: "", lines: [line("u by AECN", "aecn_u", NAMES[4]), line("u by CSIG", "csig_u", NAMES[6])] },
    { title: "Rate, bit/s", unit: "bit/s", lines: [line("data", "rate_bps", NAMES[4])] },
  ];
}

function signalRows(signals) {
  const columns = Object.keys(signals).filter((name) => Array.isArray(signals[name]) && name !== "times_ns" && name !== "hops");
  return signals.times_ns.map((time_ns, i) => ({
    time_ns,
    ...Object.fromEntries(columns.map((name) => [name, signals[name][i]])),
    ...Object.fromEntries(signals.hops.map((one) => [`u ${one.device} ${one.interface}`, one.u_mean[i]])),
  }));
}

function evidence(answer) {
  const rows = answer.evidence;
  if (!rows.length) return null;
  const columns = ["Signal", "Hop", "Value", "Samples", "Share of the time", "How it was got"];
  return panel("Evidence", null, [csvButton("evidence", () => rows.map((row) => ({ ...row, ...row.hop, hop: undefined })))],
    h("div", { class: "scroll" }, h("table", { class: "list" },
      h("thead", null, h("tr", null, columns.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", null, rows.map((row) => h("tr", null,
        h("td", null, row.signal), h("td", { class: "hop" }, row.hop ? hopCell(row.hop) : "–"),
        h("td", { class: "num" }, `${Number(Number(row.value).toPrecision(4))} ${row.unit || ""}`),
        h("td", { class: "num" }, row.samples), h("td", { class: "num" }, percent(row.share)), h("td", null, kind(row.tag))))))));
}

function sharing(answer) {
  const flows = answer.shared_by || [];
  if (!flows.length) return null;
  return panel("Flows that share the hop", `${flows.length}`, [], h("div", { class: "scroll" }, h("table", { class: "list" },
    h("tbody", null, flows.map((other) => h("tr", null,
      h("td", { class: "flow" }, h("a", { href: flowUrl(other) }, end(other.src, other.sport), h("span", { class: "arrow" }, "→"), end(other.dst, other.dport))),
      h("td", null, confidence(other.confidence))))))));
}
