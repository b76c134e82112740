// One run of a replay: its decisions, all pages of them, and what is drawn of each algorithm.

import { get } from "./api.js";

const PAGE = 5000;
export const MOST = 20000;

/** Lines of the timeline by algorithm: rows of [variable, …], with the parameter that limits the first. */
const ROWS = {
  hpcc: [{ title: "U, normalised inflight", names: ["U"], limit: "eta" }, { title: "Window W, bytes", names: ["W", "Wc"], unit: "B" }],
  dctcp: [{ title: "alpha", names: ["alpha"] }, { title: "cwnd and ssthresh, bytes", names: ["cwnd", "ssthresh"], unit: "B" }],
  swift: [{ title: "delay and target, ns", names: ["delay_ns", "target_ns"] }, { title: "cwnd, packets", names: ["cwnd"] }],
  poseidon: [{ title: "MPD and MPT, ns", names: ["MPD", "MPT"] }, { title: "cwnd, packets", names: ["cwnd"] }],
};

/** Decisions of a flow under parameters; more than the most are left out and told. */
export async function run(asked) {
  const decisions = [];
  const paths = [];
  let page = null;
  for (let start = 0; start !== null && decisions.length < MOST; start = page.next) {
    page = await get("/replay/decisions", { ...asked, start, limit: PAGE });
    for (const one of page.decisions) decisions.push({ ...one, hops: one.path === null ? null : page.paths[one.path] });
    paths.push(...page.paths);
  }
  const algorithms = [...new Set(decisions.map((one) => one.algorithm))];
  const algorithm = algorithms[0] || asked.algorithm || null;
  return { ...page, asked, algorithms, algorithm, decisions: decisions.filter((one) => one.algorithm === algorithm) };
}

const kindOf = (one) => (one.algorithm?.startsWith("hpcc") ? "hpcc" : one.algorithm);

/** Colours of the first run, of which no algorithm draws more lines; behind them come those of the second. */
const OWN = 3;

/** Rows of the timeline from decision `low` to `high`, each line in a colour of its own; of the second run, dashed, the first variable of each row.
    Another algorithm has variables and units of its own, so its second run has rows of its own. */
export function rowsOf(first, second, colours, low, high) {
  const [from, to] = [first.decisions[low].time_ns, first.decisions[high].time_ns];
  const shown = new Map([first, second].filter(Boolean).map((one) => [one, one.decisions.filter((each) => each.time_ns >= from && each.time_ns <= to)]));
  const left = new Map([[first, colours.slice(0, OWN)], [second, colours.slice(OWN)]]);
  const line = (one, name) => ({
    name: one === second ? `${name}, second run` : name, colour: left.get(one).shift(), dash: one === second,
    times: shown.get(one).map((each) => each.time_ns), values: shown.get(one).map((each) => each[name]),
  });
  const row = (one, { title, unit, names, limit }, lines) => {
    const at = limit && one.parameters[one.algorithm]?.[limit];
    return { title: one === second ? `${title}: second run, ${one.algorithm}` : title, unit: unit || "", mark: at ? { at, text: `${limit} ${at}` } : null, lines: lines || names.map((name) => line(one, name)) };
  };
  const rows = (one) => ROWS[kindOf(one)] || generic(one);
  if (!second) return rows(first).map((each) => row(first, each));
  if (kindOf(first) !== kindOf(second)) return [first, second].flatMap((one) => rows(one).map((each) => row(one, each)));
  return rows(first).map((each) => row(first, each, [...each.names.map((name) => line(first, name)), line(second, each.names[0])]));
}

const PLAIN = new Set(["time_ns", "sport", "dport", "ack", "frame", "faults", "path", "hop_count", "lastUpdateSeq", "WindowEnd"]);

function generic(one) {
  const names = Object.keys(one.decisions[0] || {}).filter((name) => !PLAIN.has(name) && one.decisions.some((each) => typeof each[name] === "number"));
  return names.slice(0, 3).map((name) => ({ title: name, names: [name] }));
}

/** Number of the last decision at or before a time. */
export function before(decisions, ns) {
  let [low, high] = [0, decisions.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (decisions[middle].time_ns <= ns) low = middle;
    else high = middle - 1;
  }
  return low;
}

const COMPARED = ["branch", "W", "cwnd", "alpha", "U"];
const STEERED = ["W", "cwnd", "R", "rate_bps"];

/** Number of the first decision of `first` that `second` took otherwise; null: none.
    Two algorithms part where one lets what it steers grow and the other cuts it. */
export function divergence(first, second) {
  if (first.algorithm !== second.algorithm) return parted(first, second);
  for (let at = 0; at < first.decisions.length; at += 1) {
    const one = first.decisions[at];
    const other = second.decisions[before(second.decisions, one.time_ns)];
    if (!other || COMPARED.some((name) => name in one && name in other && one[name] !== other[name])) return at;
  }
  return null;
}

function parted(first, second) {
  const [one, two] = [turns(first), turns(second)];
  for (let at = 1; at < first.decisions.length; at += 1) {
    const beside = before(second.decisions, first.decisions[at].time_ns);
    if (second.decisions[beside].frame === first.decisions[at].frame && one[at] * two[beside] < 0) return at;
  }
  return null;
}

/** Which way each decision moves what its algorithm steers; NaN where that is not known. */
function turns({ decisions }) {
  const name = STEERED.find((each) => decisions.some((one) => typeof one[each] === "number"));
  const value = (at) => decisions[at]?.[name] ?? NaN;
  return decisions.map((_, at) => Math.sign(value(at) - value(at - 1)));
}
