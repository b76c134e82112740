// Traffic engineering: loads of the paths between pairs of ends as a matrix, and the ways between two of them.

import { ApiError, get } from "./api.js";
import { count, head, meter, right } from "./cell.js";
import { amount, FULL_LOAD, inkOver } from "./colour.js";
import { apiLink, csvButton, empty, h, panel } from "./dom.js";
import { bytes, load, missed, moment, percent, rate, span } from "./units.js";
import { linkUrl, rangeOf, teUrl } from "./views.js";

const MOST_ENDS = 40;
const MOST_ROWS = 200;
const FIELDS = ["by", "interval", "class", "from", "to"];
const DEFAULTS = { by: "site", interval: "1s", metric: "u_p99" };

/** What a cell can show: name, how it is written, and how full (0…1) it is. */
const METRICS = {
  u_p99: { name: "load u, 99 % of samples below", text: load, share: (value) => value / FULL_LOAD },
  u_p50: { name: "load u, median", text: load, share: (value) => value / FULL_LOAD },
  utilization_p99: { name: "utilisation, 99 % below", text: percent, share: (value) => value },
  headroom_ratio: { name: "headroom, share of the capacity", text: percent, share: (value) => 1 - value, least: true },
  delay_p99_ns: { name: "queueing delay, 99 % below", text: span, share: (value, most) => value / most },
  affected_share: { name: "share of bytes that met congestion", text: percent, share: (value) => value },
};

export async function te(parameters) {
  const asked = { ...Object.fromEntries(FIELDS.map((name) => [name, parameters.get(name)])) };
  const now = { ...DEFAULTS, ...Object.fromEntries([...parameters].filter(([, value]) => value)) };
  const answer = await get("/te/paths", { ...asked, by: now.by, interval: now.interval, limit: 10000 });
  const rows = answer.paths.map((row) => ({ ...row, affected_share: row.data_bytes ? row.affected_bytes / row.data_bytes : null }));
  const metric = Object.hasOwn(METRICS, now.metric) ? now.metric : DEFAULTS.metric;
  const api = () => apiLink("/te/paths", { ...asked, by: now.by, interval: now.interval });
  const pair = now.src && now.dst ? await ways(now) : null;
  return {
    title: "traffic engineering",
    about: answer,
    body: h("div", null, h("h1", null, "Traffic between ends"), h("p", { class: "lead" }, "How full the paths are between sites, prefixes or devices, over all their flows; a cell of devices leads to the ways that there are."), form(now, metric),
      rows.length ? [
        panel("Matrix", `rows send, columns receive; ${METRICS[metric].name}`, [csvButton("te", () => rows), api()], matrix(rows, metric, now)),
        pair,
        panel("Pairs", `${count(answer.total, "row")}, the fullest first by the load that 90 % of samples stay below; ${answer.cells_with_rows} of ${answer.cells} cells of time have data, telemetry covers ${percent(answer.completeness)}.${missed(answer.captured)}${rows.length > MOST_ROWS ? ` The first ${MOST_ROWS} are shown, ${rows.length} are in the CSV file.` : ""}`, [csvButton("te", () => rows), api()], table(rows, now)),
      ] : h("div", { class: "panel" }, nothing(asked))),
    again: !rows.length && !asked.from && !asked.to,
  };
}

function nothing(asked) {
  if (asked.class || asked.from || asked.to) return empty("No path has a load here", `Of ${asked.class ? `class ${asked.class}` : "this time"} nothing is stored, or no flow of it carried telemetry.`, null);
  return empty("No path has a load yet", "Rollups are made while frames are analysed; pairs of ends need flows with telemetry. This page is looked up again every ten seconds.", ["hopsight doctor", "hopsight analyze CAPTURE --store DSN"]);
}

function form(now, metric) {
  // Another metric tells of the same pair; other ends or times may have none such.
  const change = ({ target, currentTarget }) => { location.hash = teUrl({ ...now, ...(target.name === "metric" ? {} : { src: "", dst: "" }), ...Object.fromEntries(new FormData(currentTarget)) }); };
  const choice = (name, label, options, chosen) => h("label", null, label, " ", h("select", { name }, options.map(([value, text]) => h("option", { value, selected: value === chosen }, text))));
  return h("form", { class: "times", "aria-label": "What the matrix shows", onchange: change, onsubmit: (event) => event.preventDefault() },
    choice("by", "Ends are", [["site", "sites"], ["prefix", "prefixes"], ["device", "devices"]], now.by),
    choice("interval", "cells of", [["1s", "1 s"], ["1m", "1 min"], ["1h", "1 h"]], now.interval),
    choice("metric", "show", Object.entries(METRICS).map(([value, one]) => [value, one.name]), metric));
}

/** Text that leads to the ways of a pair, where its ends are devices: of sites and prefixes the topology knows none. */
const led = (now, src, dst, text, more = {}) => (now.by === "device" ? h("a", { href: teUrl({ ...now, src, dst }), ...more }, text) : h("span", more, text));

/** The worst value of each pair over classes and cells of time. */
function matrix(rows, metric, now) {
  const { least, text, share } = METRICS[metric];
  const worst = new Map();
  for (const row of rows) {
    const value = row[metric];
    const key = `${row.src}\n${row.dst}`;
    if (value === null) continue;
    const before = worst.get(key);
    if (before === undefined || (least ? value < before : value > before)) worst.set(key, value);
  }
  const most = Math.max(...worst.values(), 1e-9);
  const ends = (name) => [...new Set(rows.map((row) => row[name]))];
  const natural = (a, b) => a.localeCompare(b, undefined, { numeric: true });
  const [sources, targets] = [ends("src").slice(0, MOST_ENDS).sort(natural), ends("dst").slice(0, MOST_ENDS).sort(natural)];
  const cell = (src, dst) => {
    const value = worst.get(`${src}\n${dst}`);
    if (value === undefined) return h("td", { class: "none" }, h("span", { "aria-label": "no traffic" }, "·"));
    const full = Math.min(1, Math.max(0, share(value, most)));
    return h("td", { style: { background: amount(full) }, class: src === now.src && dst === now.dst ? "chosen" : null },
      led(now, src, dst, text(value), { style: { color: inkOver(full) }, title: `${src} → ${dst}: ${text(value)}` }));
  };
  const left = ends("src").length + ends("dst").length - sources.length - targets.length;
  return h("div", { class: "body" }, h("div", { class: "scroll" }, h("table", { class: "matrix" },
    h("caption", { class: "hidden" }, METRICS[metric].name),
    h("thead", null, h("tr", null, h("td", { class: "corner" }, "from \\ to"), targets.map((dst) => h("th", { scope: "col" }, dst)))),
    h("tbody", null, sources.map((src) => h("tr", null, h("th", { scope: "row" }, src), targets.map((dst) => cell(src, dst))))))),
  left > 0 && h("p", { class: "aside" }, `${count(left, "more end")} in the CSV file.`));
}

function table(rows, now) {
  return h("div", { class: "scroll" }, h("table", { class: "list" },
    head(["From", "To", "Class#", "Load u, 90 %", "99 %#", "Utilisation 99 %#", "Headroom#", "Delay 99 %#", "Sent#", "Of it congested#", "Flows#", "Since"]),
    h("tbody", null, rows.slice(0, MOST_ROWS).map((row) => h("tr", null,
      h("td", null, led(now, row.src, row.dst, row.src)), h("td", null, row.dst), right(row.dscp),
      h("td", null, meter(row.u_p90)), right(load(row.u_p99)), right(percent(row.utilization_p99)), right(rate(row.headroom_bps)), right(span(row.delay_p99_ns)),
      right(bytes(row.data_bytes)), right(percent(row.affected_share)), right(`${row.affected_flows} of ${row.flows}`), h("td", { class: "num" }, moment(row.time_ns, 60e9)))))));
}

/** The ways between two ends, ranked; only devices, hosts and addresses have them. */
async function ways(now) {
  const asked = { src: now.src, dst: now.dst, interval: now.interval, class: now.class, from: now.from, to: now.to };
  const title = `Ways from ${now.src} to ${now.dst}`;
  let found;
  try {
    found = await get("/te/alternatives", asked);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return panel(title, null, [], empty("No ways to rank", `${error.message}. Ways are ranked between devices, hosts or addresses.`));
  }
  if (!found.alternatives.length) return panel(title, null, [apiLink("/te/alternatives", asked)], empty("No way is known", "The topology names no links that lead from one to the other.", ["hopsight topology check FILE"]));
  const range = rangeOf(found.interval);
  const flat = found.alternatives.flatMap((way) => way.links.map((link) => ({ rank: way.rank, ...link })));
  return panel(title, `${found.ways} shortest, the best first`, [csvButton("ways", () => flat), apiLink("/te/alternatives", asked)],
    h("div", { class: "scroll" }, h("table", { class: "list" }, head(["Rank#", "Over", "Load u, 90 %", "Available bandwidth, 10 %#", "Links' delays 99 %, summed#", "Telemetry covers#"]),
      h("tbody", null, found.alternatives.map((way) => h("tr", null, right(way.rank),
        h("td", null, way.links.map((link, at) => [at > 0 && " → ", h("a", { href: linkUrl(link, range) }, `${link.device} ${link.interface}`)])),
        h("td", null, meter(way.u_p90)), right(rate(way.abw_p10_bps)), right(span(way.delay_sum_p99_ns)), right(percent(way.completeness))))))));
}
