// One link: its load and queue over time, and the flows that pass it.

import { address, get } from "./api.js";
import { csvButton, empty, h, panel } from "./dom.js";
import { end, load, PROTOCOL, span } from "./units.js";
import { described, meter } from "./overview.js";
import { NAMES } from "./colour.js";
import { during, flowUrl } from "./views.js";
import { stack } from "./chart.js";

export async function link(parameters) {
  const asked = Object.fromEntries(["device", "interface", "from", "to"].map((name) => [name, parameters.get(name)]));
  const [timeline, users] = await Promise.all([get("/links", asked), get("/links/flows", asked)]);
  const one = timeline.links[0];
  const name = `${asked.device} ${asked.interface}`;
  if (!one) return { title: name, body: h("div", { class: "panel" }, empty(`${name} reported nothing`, "No frame in this time carried a load of this link.")) };
  const chart = h("div", { class: "chart" });
  const peak = Math.max(...one.u_mean.map((u) => u || 0));
  return {
    title: name,
    interval: timeline.interval,
    body: h("div", null,
      h("p", { class: "crumb" }, h("a", { href: "#/" }, "Overview"), " / link"),
      h("h1", null, name),
      h("p", { class: "lead" }, described(one), described(one) && ". ", `Largest mean load ${load(peak)} in ${span(timeline.interval.step_ns)}.`),
      panel("Load and queue", null, [csvButton(name, () => rows(timeline, one)), h("a", { href: address("/links", asked) }, "API")], chart),
      panel("Flows on this link", `${users.flows.length}`, [csvButton(`${name} flows`, () => users.flows), h("a", { href: address("/links/flows", asked) }, "API")],
        users.flows.length ? table(users.flows, asked.from || asked.to ? during(timeline.interval) : {}) : empty("No flow", "No flow with telemetry passed this link in this time."))),
    drawn: () => stack(chart, timeline.interval, [
      { title: "Load u", unit: "", mark: { at: 1, text: "capacity" }, lines: [
        { name: "mean", times_ns: timeline.times_ns, values: one.u_mean, colour: NAMES[0] }, { name: "peak", times_ns: timeline.times_ns, values: one.u_max, colour: NAMES[1], dash: "dot" }] },
      { title: "Queue, bytes", unit: "B", lines: [{ name: "mean", times_ns: timeline.times_ns, values: one.queue_mean_bytes, colour: NAMES[2] }] },
    ]),
  };
}

const rows = (timeline, one) => timeline.times_ns.map((time_ns, i) => ({ time_ns, u_mean: one.u_mean[i], u_max: one.u_max[i], queue_mean_bytes: one.queue_mean_bytes[i] }));

function table(flows, more) {
  return h("div", { class: "scroll" }, h("table", { class: "list" },
    h("thead", null, h("tr", null, ["Flow", "Protocol", "Load it saw here", "Samples", "Mostly held back here"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, flows.map((row) => h("tr", null,
      h("td", { class: "flow" }, h("a", { href: flowUrl(row, more) }, end(row.src, row.sport), h("span", { class: "arrow" }, "→"), end(row.dst, row.dport))),
      h("td", null, PROTOCOL[row.protocol] || row.protocol), h("td", null, meter(row.u_mean)), h("td", { class: "num" }, row.samples),
      h("td", null, row.held_back ? h("span", { class: "chip hot" }, "yes") : h("span", { class: "quiet" }, "no")))))));
}
