// The heat map: a row a link, a cell a stretch of time, coloured by load and ruled where it is above 1.

import { exact } from "./api.js";
import { FULL_LOAD, loadColour, ramp } from "./colour.js";
import { h } from "./dom.js";
import { load, moment, span } from "./units.js";
import { linkUrl } from "./views.js";

/** What the colours mean. */
export function legend() {
  return h("span", { class: "legend" }, "0", h("span", { class: "ramp", style: { background: ramp() } }), `${FULL_LOAD}+`,
    h("span", { class: "ring" }), "above 1");
}

/** Links as `/links` answers them. */
export function heat(links, range) {
  const times = links.times_ns;
  const { from_ns: from, to_ns: to } = links.interval;
  const length = to - from;
  return h("div", { class: "body" },
    h("div", { class: "scroll", role: "region", "aria-label": "Load of each link over time" }, h("table", { class: "heat" },
      h("caption", { class: "hidden" }, "Mean load of each link over time"),
      h("colgroup", null, h("col", { class: "names" }), h("col", { span: times.length }), h("col", { class: "tops" })),
      h("tbody", null, links.links.map((link) => row(link, times, length, range))),
      h("tfoot", null, h("tr", null, h("td", null), h("td", { colspan: times.length }, ticks(from, length)), h("td", { class: "num" }, "largest"))))));
}

function row(link, times, length, range) {
  const name = `${link.device} ${link.interface}`;
  return h("tr", null,
    h("th", { scope: "row" }, h("a", { href: linkUrl(link, range) }, name)),
    link.u_mean.map((u, i) => h("td", {
      class: u === null ? "gap" : u > 1 ? "hot" : null,
      style: u === null ? {} : { background: loadColour(u) },
      title: `${name}\n${moment(times[i], length)}\n${u === null ? "no sample" : `mean load ${load(u)}, queue ${Math.round((link.queue_mean_bytes[i] || 0) / 1024)} KiB`}`,
    })),
    h("td", { class: "top-u num", title: "largest mean load" }, load(Math.max(...link.u_mean.map((u) => u || 0)))));
}

/** Five times along an axis, the first as a moment. */
export function ticks(from, length) {
  return h("div", { class: "ticks" }, [0, 0.25, 0.5, 0.75, 1].map((share) => h("span", null, share ? `+${span(share * length)}` : moment(from, length))));
}

export const cells = (links) => links.links.flatMap((link) => link.u_mean.map((u, i) => ({ time_ns: exact(links.times_ns, i), device: link.device, interface: link.interface, u_mean: u, queue_mean_bytes: link.queue_mean_bytes[i] })));
