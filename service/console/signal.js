// The signals of a flow as rows of one chart, and as rows of a table.

import { exact } from "./api.js";
import { NAMES } from "./colour.js";

const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];

/** Rows for `chart.stack`. */
export function signalLines(signals) {
  const all = { times_ns: signals.times_ns, lengths_ns: signals.lengths_ns };
  const line = (name, key, colour, more) => ({ ...all, name, values: signals.signals[key] || [], colour, ...more });
  const ofHops = (key, merge) => signals.times_ns.map((_, i) => {
    const seen = signals.hops.map((one) => one[key][i]).filter((value) => value !== null && value !== undefined);
    return seen.length ? merge(seen) : null;
  });
  return [
    { title: "U, normalised inflight", unit: "", lines: [line("U (HPCC++)", "U", NAMES[0])], mark: signals.eta ? { at: signals.eta, text: `eta ${signals.eta}` } : null },
    { title: "Load u of each hop", unit: "", mark: { at: 1, text: "capacity" }, lines: signals.hops.map((one, i) => ({ ...all, name: `${one.device} ${one.interface}`, values: one.u_mean, colour: NAMES[(i + 1) % NAMES.length], dash: DASHES[i % DASHES.length] })) },
    { title: "Window W, bytes", unit: "B", lines: [line("W", "W", NAMES[0]), line("Wc", "Wc", NAMES[1], { dash: "dot" }), line("in flight after the last ACK", "inflight_bytes", NAMES[7], { dash: "dash" })] },
    { title: "alpha (DCTCP)", unit: "", share: true, lines: [line("alpha", "alpha", NAMES[2], { step: true })] },
    { title: "Available bandwidth ABW, bit/s", unit: "bit/s", lines: [{ ...all, name: "least of the hops", values: ofHops("abw_bps", (seen) => Math.min(...seen)), colour: NAMES[2] }] },
    { title: "Queueing delay, s", unit: "s", lines: [{ ...all, name: "all hops in sight", values: ofHops("delay_ns", (seen) => seen.reduce((sum, ns) => sum + ns, 0) / 1e9), colour: NAMES[3] }] },
    { title: "Marks, share", unit: "", share: true, lines: [line("bytes acked with ECE", "mark_share", NAMES[5]), line("frames with CE", "ce_share", NAMES[3], { dash: "dot" })] },
    { title: "Path load by AECN", unit: "", mark: { at: 1, text: "capacity" }, lines: [line("mean", "aecn_u_mean", NAMES[4]), line("peak", "aecn_u_max", NAMES[1], { dash: "dot" })] },
    { title: "Rate, bit/s", unit: "bit/s", lines: [line("data", "rate_bps", NAMES[0])] },
  ];
}

/** One object a time, for CSV. */
export function signalRows(signals) {
  const columns = Object.entries(signals.signals);
  return signals.times_ns.map((_, i) => ({
    time_ns: exact(signals.times_ns, i),
    length_ns: signals.lengths_ns[i],
    ...Object.fromEntries(columns.map(([name, values]) => [name, values[i]])),
    ...Object.fromEntries(signals.hops.flatMap((one) => ["u_mean", "queue_mean_bytes", "abw_bps", "delay_ns"].map((key) => [`${key} ${one.device} ${one.interface}`, one[key][i]]))),
  }));
}
