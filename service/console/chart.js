// One figure with several signals above each other on one time axis, drawn by plotly.

import { role } from "./colour.js";
import { axis } from "./units.js";

const NARROW = 720;
const ROW = 150;
const FOOT = 62;

let library = null;

/** Load plotly when the first chart is needed; the overview never pays for it. */
function plotly() {
  library ||= new Promise((ready, failed) => {
    const script = document.createElement("script");
    script.src = "/console/plotly.min.js";
    script.onload = () => ready(globalThis.Plotly);
    script.onerror = () => failed(new Error("plotly did not load"));
    document.head.append(script);
  });
  return library;
}

const holds = (value) => value !== null && value !== undefined;

/** The line with a hole wherever a cell begins after the one before has ended: nobody saw what was between them. */
function broken(line) {
  const [times_ns, values] = [[], []];
  line.times_ns.forEach((ns, i) => {
    const length_ns = i && line.lengths_ns ? line.lengths_ns[i - 1] : Infinity;
    if (i && ns - line.times_ns[i - 1] > 1.5 * length_ns) {
      times_ns.push(line.times_ns[i - 1] + length_ns);
      values.push(null);
    }
    times_ns.push(ns);
    values.push(line.values[i]);
  });
  return { ...line, times_ns, values };
}

/** Whether a value has none beside it, so that no line would show it. */
const alone = (value, i, values) => holds(value) && !holds(values[i - 1]) && !holds(values[i + 1]);

/**
 * Draw rows of lines. A row is {title, unit, lines: [{name, times_ns, lengths_ns, values, colour, dash, step}], mark: {at, text}}.
 * Values are of cells that last `lengths_ns`, where told; a cell that begins before the time shown is drawn from where that begins.
 * Rows whose lines hold no value are left out; returns false when nothing is left.
 */
export async function stack(element, interval, rows) {
  const shown = rows
    .map((row) => ({ ...row, lines: row.lines.filter((line) => line.values.some(holds)).map(broken) }))
    .filter((row) => row.lines.length);
  if (!shown.length) return false;
  const library = await plotly();
  const { size, name } = axis(interval.to_ns - interval.from_ns);
  const place = (ns) => Math.max(ns - interval.from_ns, 0) / size;
  element.style.height = `${shown.length * ROW + FOOT}px`;
  const narrow = element.clientWidth < NARROW;
  await library.react(element, traces(shown, place), layout(shown, place, interval, name, narrow), { responsive: true, displayModeBar: false });
  return true;
}

const suffix = (i) => (i ? String(i + 1) : "");

function traces(rows, place) {
  return rows.flatMap((row, i) => row.lines.map((line) => ({
    type: "scatter",
    mode: line.values.length > 400 && !line.values.some(alone) ? "lines" : "lines+markers",
    cliponaxis: false,
    name: line.name,
    x: line.times_ns.map(place),
    y: line.values,
    xaxis: "x",
    yaxis: `y${suffix(i)}`,
    connectgaps: false,
    line: { color: line.colour, width: 1.8, dash: line.dash || "solid", shape: line.step ? "hv" : "linear" },
    marker: { size: 3.5, color: line.colour },
    legend: `legend${suffix(i)}`,
    hovertemplate: `%{y:.4~s}${row.unit}`,
  })));
}

function layout(rows, place, interval, unit, narrow) {
  const ink = role("ink-2");
  const grid = role("grid");
  const height = 1 / rows.length;
  const plain = { gridcolor: grid, zerolinecolor: grid, linecolor: role("edge-strong"), tickfont: { color: ink, size: 11.5 }, exponentformat: "SI" };
  const made = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: !narrow,
    font: { family: role("sans"), size: 12.5, color: ink },
    margin: { l: 58, r: narrow ? 14 : 190, t: 8, b: 48 }, hovermode: "x unified", dragmode: "zoom",
    hoverlabel: { bgcolor: role("panel"), bordercolor: role("edge-strong"), font: { color: role("ink") } },
    xaxis: { ...plain, range: [0, place(interval.to_ns)], title: { text: `time since the start shown, ${unit}`, standoff: 8, font: { size: 12.5 } }, anchor: `y${suffix(rows.length - 1)}`, hoverformat: ".4~f" },
    shapes: [], annotations: [],
  };
  rows.forEach((row, i) => {
    const top = 1 - i * height;
    made[`yaxis${suffix(i)}`] = { ...plain, domain: [top - height * 0.86, top - height * 0.2], rangemode: row.share ? "normal" : "tozero", range: row.share ? [0, 1.06] : undefined, anchor: "x", nticks: 4, fixedrange: true };
    made[`legend${suffix(i)}`] = { x: 1.01, y: top - height * 0.18, yanchor: "top", font: { size: 12, color: ink }, bgcolor: "rgba(0,0,0,0)", tracegroupgap: 0 };
    made.annotations.push({ text: `<b>${row.title}</b>`, xref: "paper", yref: "paper", x: 0, y: top - height * 0.05, xanchor: "left", yanchor: "top", showarrow: false, font: { size: 12.5, color: role("ink") } });
    if (row.mark) {
      const yref = `y${suffix(i)}`;
      made.shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, yref, y0: row.mark.at, y1: row.mark.at, line: { color: "#d55e00", width: 1.4, dash: "dash" } });
      made.annotations.push({ text: row.mark.text, xref: "paper", yref, x: 0.998, y: row.mark.at, xanchor: "right", yanchor: "bottom", showarrow: false, font: { size: 11, color: role("hot") } });
    }
  });
  return made;
}
