// One link: its load and queue over time, and the flows that pass it.

import { nothingStored } from "./absent.js";
import { get } from "./api.js";
import { chip, count, described, flowCell, head, meter, right } from "./cell.js";
import { NAMES } from "./colour.js";
import { apiLink, csvButton, empty, h, panel } from "./dom.js";
import { bytes, load, percent, span } from "./units.js";
import { during, fabricUrl } from "./views.js";
import { stack } from "./chart.js";

export async function link(parameters) {
  const asked = Object.fromEntries(["device", "interface", "from", "to"].map((name) => [name, parameters.get(name)]));
  const [timeline, users] = await Promise.all([get("/links", asked), get("/links/flows", asked)]);
  const one = timeline.links[0];
  const name = `${asked.device} ${asked.interface}`;
  if (!one) {
    const why = timeline.interval ? empty(`${name} reported nothing`, "No frame in this time carried a load of this link. A longer time may hold one; which links report at all is told by:", ["hopsight health"])
      : await nothingStored("A link is shown of the latest time that is stored, where its address names none.", ["hopsight doctor"]);
    return { title: name, body: h("div", null, crumb(), h("h1", null, name), h("div", { class: "panel" }, why)) };
  }
  const chart = h("div", { class: "chart" });
  const peak = Math.max(...one.u_mean.map((u) => u || 0));
  return {
    title: name,
    about: timeline,
    body: h("div", null,
      crumb(),
      h("h1", null, name),
      h("p", { class: "lead" }, described(one), described(one) && ". ", `Largest mean load ${load(peak)} in ${span(timeline.interval.step_ns)}. `,
        h("a", { href: fabricUrl({ from: asked.from, to: asked.to, device: asked.device }) }, "Show it in the fabric"), "."),
      panel("Load and queue", null, [csvButton(name, () => rows(timeline, one)), apiLink("/links", asked)], chart),
      panel("Flows on this link", `${count(users.flows.length, "flow")}${users.cursor ? " that sent most" : ""}, ${users.flows.filter((row) => row.held_back).length} held back here${unseen(users.others)}`, [csvButton(`${name} flows`, () => users.flows), apiLink("/links/flows", asked)],
        users.notes.map((text) => h("p", { class: "aside" }, text)),
        users.flows.length ? table(users.flows, asked.from || asked.to ? during(timeline.interval) : {}) : empty("No flow", "No flow with telemetry passed this link in this time, or its intervals are not kept any more. All flows that were seen are listed under Flows, or by:", ["hopsight top"]))),
    drawn: () => stack(chart, timeline.interval, [
      { title: "Load u", unit: "", mark: { at: 1, text: "capacity" }, area: true, lines: [
        { name: "mean", times_ns: timeline.times_ns, values: one.u_mean, colour: NAMES[0] }, { name: "peak", times_ns: timeline.times_ns, values: one.u_max, colour: NAMES[1], dash: "dot" }] },
      { title: "Queue, bytes", unit: "B", lines: [{ name: "mean", times_ns: timeline.times_ns, values: one.queue_mean_bytes, colour: NAMES[2] }] },
    ]),
  };
}

const crumb = () => h("p", { class: "crumb" }, h("a", { href: "#/" }, "Overview"), " / link");

const rows = (timeline, one) => timeline.times_ns.map((time_ns, i) => ({ time_ns, u_mean: one.u_mean[i], u_max: one.u_max[i], queue_mean_bytes: one.queue_mean_bytes[i] }));

/** Flows of others, which this login does not see; the link carried them too. */
const unseen = (others) => (others.flows ? `; beside them ${count(others.flows, "flow")} of others, ${bytes(others.data_bytes)}` : "");

/** Culprits first: what each flow sent here, and whether this link holds it back. */
function table(flows, more) {
  return h("div", { class: "scroll" }, h("table", { class: "list" },
    head(["Flow", "Sent#", "Of what was sent#", "Load it saw here", "Samples#", "Part", "Held back here", "Congestion control"]),
    h("tbody", null, flows.map((row) => h("tr", null,
      flowCell(row, more), right(bytes(row.data_bytes)), right(row.share === null ? "–" : percent(row.share)),
      h("td", null, meter(row.u_mean)), right(row.samples), h("td", null, row.role || "–"),
      h("td", null, row.held_back ? chip(true, "yes") : h("span", { class: "quiet" }, "no")), h("td", null, row.cc || "–"))))));
}
