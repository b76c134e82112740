// A timeline of decisions as SVG: rows of lines on one axis of time, runs overlaid, and a cursor that is cheap to move.

import { h, svg } from "./dom.js";
import { axis, short } from "./units.js";

const WIDTH = 1200;
const LEFT = 64;
const RIGHT = 12;
const ROW = 132;
const TOP = 22;
const FOOT = 34;
const POINTS = 1400;

const holds = (value) => value !== null && value !== undefined && Number.isFinite(value);

/** Rows {title, unit, mark, lines: [{name, colour, dash, times, values}]}; `pick(ns)` hears of clicks. */
export function timeline(rows, from, to, pick) {
  const shown = rows.map((row) => ({ ...row, lines: row.lines.filter((line) => line.values.some(holds)) })).filter((row) => row.lines.length);
  const height = shown.length * ROW + FOOT;
  const x = (ns) => LEFT + ((ns - from) / Math.max(1, to - from)) * (WIDTH - LEFT - RIGHT);
  const cursor = svg("line", { class: "cursor", y1: 4, y2: height - FOOT });
  const picture = svg("svg", { class: "timeline", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `${shown.map((row) => row.title).join("; ")} over time` },
    shown.map((row, at) => drawn(row, at * ROW, x)), times(from, to, x, height), cursor);
  picture.addEventListener("click", (event) => {
    const place = picture.getBoundingClientRect();
    pick(from + (((event.clientX - place.left) / place.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT) * (to - from));
  });
  const keys = h("div", { class: "keys" }, shown.flatMap((row) => row.lines).map((line) => h("span", null, h("i", { class: line.dash ? "dashed" : null, style: { background: line.colour } }), line.name)));
  return { element: h("div", null, h("div", { class: "scroll" }, picture), keys), move: (ns) => { cursor.setAttribute("x1", x(ns)); cursor.setAttribute("x2", x(ns)); } };
}

function drawn(row, top, x) {
  const all = row.lines.flatMap((line) => thin(line));
  const most = Math.max(...all.map(([, value]) => value), row.mark ? row.mark.at * 1.1 : 0, 1e-12);
  const bottom = top + ROW - 12;
  const y = (value) => bottom - (Math.max(0, value) / (most * 1.06)) * (ROW - TOP - 16);
  const grid = [0, 0.5, 1].map((share) => [
    svg("line", { class: "rule", x1: LEFT, x2: WIDTH - RIGHT, y1: y(share * most), y2: y(share * most) }),
    svg("text", { x: LEFT - 8, y: y(share * most), "text-anchor": "end", "dominant-baseline": "central" }, short(share * most, row.unit))]);
  const mark = row.mark && [svg("line", { class: "limit", x1: LEFT, x2: WIDTH - RIGHT, y1: y(row.mark.at), y2: y(row.mark.at) }), svg("text", { class: "limit", x: WIDTH - RIGHT - 2, y: y(row.mark.at) - 5, "text-anchor": "end" }, row.mark.text)];
  return svg("g", null, svg("text", { class: "title", x: LEFT, y: top + 12 }, row.title), grid, mark,
    row.lines.map((line) => svg("polyline", { points: thin(line).map(([ns, value]) => `${x(ns).toFixed(1)},${y(value).toFixed(1)}`).join(" "), style: { stroke: line.colour, strokeDasharray: line.dash ? "5 4" : "" } })));
}

/** Points to draw: all where they are few, else the smallest and the largest of each stretch. */
function thin(line) {
  const pairs = line.times.map((ns, i) => [ns, line.values[i]]).filter(([, value]) => holds(value));
  if (pairs.length <= POINTS) return pairs;
  const size = Math.ceil(pairs.length / (POINTS / 2));
  const kept = [];
  for (let at = 0; at < pairs.length; at += size) {
    const part = pairs.slice(at, at + size);
    const low = part.reduce((a, b) => (b[1] < a[1] ? b : a));
    const high = part.reduce((a, b) => (b[1] > a[1] ? b : a));
    kept.push(...(low[0] <= high[0] ? [low, high] : [high, low]));
  }
  return kept;
}

function times(from, to, x, height) {
  const { size, name } = axis(to - from);
  return [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const ns = from + share * (to - from);
    return svg("text", { x: x(ns), y: height - FOOT + 18, "text-anchor": share === 1 ? "end" : share ? "middle" : "start" }, share ? `+${Number(((ns - from) / size).toPrecision(4))} ${name}` : `0 ${name}`);
  });
}
