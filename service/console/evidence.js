// What speaks for a verdict, with the frames that carried it; where else signals point; who shares the hop.

import { chip, confidence, count, flowCell, head, hop, meter, right } from "./cell.js";
import { apiLink, csvButton, h, panel } from "./dom.js";
import { bytes, percent, rate, span } from "./units.js";
import { during, rangeOf } from "./views.js";

const SIGNAL = { headline: "headline", state: "sender's state" };

export function evidence(answer, asked) {
  if (!answer.evidence.length && !answer.candidates.length) return null;
  const range = rangeOf(answer.interval);
  const titles = { ...SIGNAL, ...Object.fromEntries((answer.signals || []).map((each) => [each.signal, each.title])) };
  const flat = (rows) => rows.map((row) => ({ ...row, hop: row.hop ? row.hop.name : "", points: (row.points || []).join(" "), frames: (row.frames || []).map(frames).join("; ") }));
  return panel("Evidence", "what speaks for the verdict, and where else the signals point", [csvButton("evidence", () => flat([...answer.evidence, ...answer.candidates])), apiLink("/flows/bottleneck", asked)],
    answer.evidence.length > 0 && h("div", { class: "scroll" }, h("table", { class: "list" },
      head(["Signal", "What", "Value#", "Hop", "Samples#", "Of the time here#", "Frames that carried it"]),
      h("tbody", null, answer.evidence.map((row) => h("tr", null,
        h("td", null, titles[row.signal] || row.signal), h("td", null, row.name),
        right(quantity(row.value, row.unit)), h("td", { class: "hop" }, row.hop ? hop(row.hop, range) : "–"), right(row.samples), right(percent(row.share)),
        h("td", { class: "where frames" }, row.frames?.length ? row.frames.map((each) => h("div", { title: open(each) }, frames(each))) : row.points.join(", "))))))),
    answer.candidates.length > 0 && h("div", { class: "scroll" }, h("table", { class: "list" },
      head(["Signal", "Candidate hop", "Mean load", "Probability", "Samples#"]),
      h("tbody", null, answer.candidates.map((row) => h("tr", null,
        h("td", null, titles[row.signal] || row.signal), h("td", { class: "hop" }, row.hop ? hop(row.hop, range) : "–"),
        h("td", null, meter(row.u_mean)), h("td", null, confidence(row.probability)), right(row.samples)))))));
}

const frames = (row) => `${row.source}: ${count(row.frames, "frame")}, ${row.first} to ${row.last}, at ${row.point}${row.reflected ? ", reflected" : ""}; open ${row.telling}${row.message ? ` in message ${row.message.offset} of ${row.message.place}` : ""}`;
const open = (row) => (row.source.includes(".pcap") ? `hopsight dissect '${row.source}' ${row.telling}` : `frame ${row.telling} of ${row.source}`);

function quantity(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "bytes") return bytes(value);
  if (unit === "bit/s") return rate(value);
  if (unit === "ns") return span(value);
  return Number(value.toPrecision(4)) + (unit === "ratio" ? "" : ` ${unit}`);
}

/** The other flows on the hop that holds this one back: who to talk to. */
export function sharing(answer, users, asked) {
  const others = users ? users.flows.filter((other) => other.flow !== answer.flow.flow) : [];
  if (!others.length) return null;
  return panel("Flows that share the hop", `${others.length} at ${answer.verdict.hop.name}`, [csvButton("sharing", () => others), apiLink("/links/flows", asked)],
    h("div", { class: "scroll" }, h("table", { class: "list" }, head(["Flow", "Sent#", "Load it saw there", "Part", "Mostly held back there"]),
      h("tbody", null, others.map((other) => h("tr", null,
        flowCell(other, during(answer.interval)), right(bytes(other.data_bytes)), h("td", null, meter(other.u_mean)), h("td", null, other.role || "–"),
        h("td", null, other.held_back ? chip(true, "yes") : h("span", { class: "quiet" }, "no"))))))));
}
