// Who meets where: sites of senders → bottleneck links → flows, each flow a band of the same width.

import { h, svg } from "./dom.js";
import { loadColour } from "./colour.js";
import { end, load } from "./units.js";
import { flowUrl, linkUrl } from "./views.js";

const WIDTH = 1120;
const BAND = 15;
const SPACE = 16;
const COLUMNS = [130, 430, 760];
const NODE = 10;
const MOST = 60;

/** Bottlenecked flows as `/bottlenecks` answers them, and loads by link; flows beyond the most are told by number. */
export function sankey(flows, loads, range, more) {
  const rows = flows.slice(0, MOST).map((flow, at) => ({ flow, at, site: flow.src_site || "unknown site", hop: `${flow.hop.device} ${flow.hop.interface}` }));
  const hops = stacked(rows, (row) => row.hop);
  const order = new Map(hops.map((hop, at) => [hop.key, at]));
  const sites = stacked([...rows].sort((a, b) => order.get(a.hop) - order.get(b.hop)), (row) => row.site);
  const ends = stacked([...rows].sort((a, b) => order.get(a.hop) - order.get(b.hop)), (row) => row.at, 3);
  const height = Math.max(...[sites, hops, ends].map((column) => column.at(-1).y + column.at(-1).size)) + 4;
  [sites, hops, ends].forEach((column) => centred(column, height));
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "sankey", role: "group", "aria-label": "Sites of senders, the links that hold their flows back, and the flows" },
    bands(rows, sites, hops, COLUMNS[0], COLUMNS[1], (row) => row.site, (row) => row.hop),
    bands(rows, hops, ends, COLUMNS[1], COLUMNS[2], (row) => row.hop, (row) => row.at),
    sites.map((node) => [box(node, COLUMNS[0], "var(--edge-strong)"), label(node, COLUMNS[0] - 8, "end", node.key, null, `${node.rows.length}`)]),
    hops.map((node) => [box(node, COLUMNS[1], loadColour(loads.get(node.key) ?? 0)),
      label(node, COLUMNS[1] + NODE + 8, "start", node.key, linkUrl(node.rows[0].flow.hop, range), `u ${load(loads.get(node.key))}`, true)]),
    ends.map((node) => [box(node, COLUMNS[2], "var(--edge-strong)"),
      label(node, COLUMNS[2] + NODE + 8, "start", pair(node.rows[0].flow.flow), flowUrl(node.rows[0].flow.flow, more))]));
  return h("div", { class: "body" }, h("div", { class: "scroll" }, picture),
    flows.length > MOST && h("p", { class: "aside" }, `${flows.length - MOST} more flows are in the table.`));
}

const pair = (flow) => `${end(flow.src, flow.sport)} → ${end(flow.dst, flow.dport)}`;

/** Nodes of a column in the order in which they first occur, one below the other. */
function stacked(rows, key, space = SPACE) {
  const nodes = new Map();
  for (const row of rows) {
    if (!nodes.has(key(row))) nodes.set(key(row), { key: key(row), rows: [] });
    nodes.get(key(row)).rows.push(row);
  }
  let y = 2;
  return [...nodes.values()].map((node) => {
    const placed = { ...node, y, size: node.rows.length * BAND };
    y += placed.size + space;
    return placed;
  });
}

function centred(column, height) {
  const used = column.at(-1).y + column.at(-1).size;
  column.forEach((node) => { node.y += (height - used) / 2; });
}

function bands(rows, left, right, x0, x1, leftKey, rightKey) {
  const place = (nodes) => new Map(nodes.map((node) => [node.key, { next: node.y, node }]));
  const from = place(left);
  const to = place(right);
  const sorted = [...rows].sort((a, b) => to.get(rightKey(a)).node.y - to.get(rightKey(b)).node.y || from.get(leftKey(a)).node.y - from.get(leftKey(b)).node.y);
  const starts = new Map(sorted.map((row) => { const at = from.get(leftKey(row)); const y = at.next; at.next += BAND; return [row, y]; }));
  const ordered = [...rows].sort((a, b) => from.get(leftKey(a)).node.y - from.get(leftKey(b)).node.y || starts.get(a) - starts.get(b));
  const stops = new Map(ordered.map((row) => { const at = to.get(rightKey(row)); const y = at.next; at.next += BAND; return [row, y]; }));
  return rows.map((row) => {
    const [a, b, start, stop] = [x0 + NODE, x1, starts.get(row) + BAND / 2, stops.get(row) + BAND / 2];
    const half = (a + b) / 2;
    return svg("path", { class: "band", d: `M${a} ${start}C${half} ${start} ${half} ${stop} ${b} ${stop}`, "stroke-width": BAND - 2.5 });
  });
}

const box = (node, x, fill) => svg("rect", { class: "node", x, y: node.y, width: NODE, height: Math.max(2, node.size - 2), rx: 2, fill });

const MOST_LETTERS = 38;

/** What fits between two columns; the whole is its title. */
const short = (text) => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text);

function label(node, x, anchor, text, href, note, strong) {
  const words = svg("text", { x, y: node.y + node.size / 2 - 1, "text-anchor": anchor, "dominant-baseline": "central", class: strong ? "strong" : null },
    text !== short(text) && svg("title", null, text), short(text), note && svg("tspan", { class: "note", dx: 7 }, note));
  return href ? svg("a", { href }, words) : words;
}
