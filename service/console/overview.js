// The first page: what is bottlenecked, and which links were hot when.

import { address, get } from "./api.js";
import { csvButton, empty, h, panel } from "./dom.js";
import { after, end, kind, load, moment, percent, PROTOCOL, rate, span } from "./units.js";
import { FULL_LOAD, loadColour, ramp } from "./colour.js";
import { during, flowUrl, linkUrl, overviewUrl } from "./views.js";

const COMMANDS = [
  "make demo                             # a fabric with known bottlenecks",
  "hopsight analyze CAPTURE --store DSN  # your own capture",
];

export async function overview(parameters) {
  const range = { from: parameters.get("from"), to: parameters.get("to") };
  const [found, links] = await Promise.all([get("/bottlenecks", range), get("/links", range)]);
  if (!found.interval) {
    return { title: "overview", body: empty("The store is empty", "No capture was analysed into this store yet. Either command fills it:", COMMANDS) };
  }
  const covered = found.interval;
  const more = range.from || range.to ? during(covered) : {};
  const flows = found.bottlenecks;
  return {
    title: "overview",
    interval: covered,
    body: h("div", null,
      h("h1", null, headline(flows)),
      h("p", { class: "lead" }, subline(flows, covered)),
      times(found, range),
      panel("Bottlenecked flows", `${found.more ? "the first " : ""}${flows.length}, most loaded hop first`,
        [csvButton("bottlenecks", () => flows.map(flat)), h("a", { href: address("/bottlenecks", range) }, "API")],
        flows.length ? h("div", { class: "scroll" }, table(flows, covered, range, more))
          : empty("No flow was held back by the network", `${found.flows_seen} flows were seen in this time and none had a hop above its capacity. Senders or receivers set the pace.`)),
      panel("Hot links over time", `${links.links.length} links, each cell ${span(links.interval.step_ns)}`,
        [legend(), csvButton("links", () => cells(links)), h("a", { href: address("/links", range) }, "API")],
        links.links.length ? heat(links, range)
          : empty("No link reported a load", "The frames carried neither INT nor CSIG, so hops have no measured load. Marks still name congestion, not its place."))),
  };
}

function headline(flows) {
  if (!flows.length) return "Nothing is bottlenecked";
  const hops = new Set(flows.map((flow) => `${flow.hop.device} ${flow.hop.interface}`)).size;
  return `${flows.length} ${flows.length === 1 ? "flow is" : "flows are"} held back at ${hops} ${hops === 1 ? "hop" : "hops"}`;
}

function subline(flows, covered) {
  const length = covered.to_ns - covered.from_ns;
  const time = `${moment(covered.from_ns, length)} UTC, ${span(length)}`;
  const worst = flows[0];
  return worst ? `Most loaded: ${worst.hop.device} ${worst.hop.interface}, mean load ${load(worst.u_mean)}. Seen ${time}.` : `Seen ${time}.`;
}

/** Which time is shown, as a form: what the store holds may be longer, or lie in pieces. */
function times(found, range) {
  const field = (name, shown) => h("label", null, name, " ", h("input", { name, value: range[name] || "", placeholder: shown, spellcheck: "false", autocomplete: "off" }));
  const held = found.stored.to_ns - found.stored.from_ns;
  const submit = (event) => {
    event.preventDefault();
    location.hash = overviewUrl(Object.fromEntries(new FormData(event.target)));
  };
  return h("form", { class: "times", "aria-label": "Time shown", onsubmit: submit }, field("from", found.interval.from), field("to", found.interval.to), h("button", { type: "submit" }, "Show"),
    h("span", { class: "quiet" }, `The store holds ${moment(found.stored.from_ns, held)} to ${moment(found.stored.to_ns, held)} UTC.`));
}

function table(flows, covered, range, more) {
  const heads = ["Flow", "Bottleneck", "Kind", "Load u", "Since", "Shared by", "Confidence"];
  return h("table", { class: "list" },
    h("thead", null, h("tr", null, heads.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, flows.map((row) => h("tr", null,
      h("td", { class: "flow" }, h("a", { href: flowUrl(row.flow, more) }, end(row.flow.src, row.flow.sport),
        h("span", { class: "arrow", "aria-label": "to" }, "→"), end(row.flow.dst, row.flow.dport)),
        " ", h("span", { class: "where" }, PROTOCOL[row.flow.protocol] || row.flow.protocol)),
      h("td", { class: "hop" }, hop(row.hop, range)),
      h("td", null, h("span", { class: "chip hot" }, kind(row.kind))),
      h("td", null, meter(row.u_mean)),
      h("td", { class: "num", title: moment(row.since_ns, 1) }, after(row.since_ns - covered.from_ns)),
      h("td", { class: "num" }, !row.contributors ? "–" : `${row.contributors} ${row.contributors === 1 ? "flow" : "flows"}`),
      h("td", null, confidence(row.confidence))))));
}

export function hop(place, range = {}) {
  if (!place || !place.device) return h("span", { class: "quiet" }, "unknown");
  return [h("a", { href: linkUrl(place, range) }, `${place.device} ${place.interface}`),
    h("div", { class: "where" }, described(place))];
}

/** What the topology says of a hop, in a few words. */
export function described(place) {
  return [place.stage, place.orientation, place.capacity_bps && rate(place.capacity_bps)].filter(Boolean).join(" · ");
}

/** Load as a bar with a line at 1.0, and as a number. */
export function meter(u) {
  if (u === null || u === undefined) return h("span", { class: "quiet" }, "not measured");
  return h("span", { class: "meter" },
    h("span", { class: "track", "aria-hidden": "true" },
      h("span", { class: "fill", style: { width: `${Math.min(100, (u / FULL_LOAD) * 100)}%`, background: u > 1 ? "#d55e00" : "#0072b2" } }),
      h("span", { class: "one", style: { left: `${100 / FULL_LOAD}%` } })),
    h("span", { class: "num" }, load(u)));
}

export function confidence(value) {
  const full = Math.round((value || 0) * 5);
  return h("span", null, h("span", { class: "dots", "aria-hidden": "true" }, "●".repeat(full) + "○".repeat(5 - full)), " ", h("span", { class: "num" }, percent(value)));
}

function legend() {
  return h("span", { class: "legend" }, "0", h("span", { class: "ramp", style: { background: ramp() } }), `${FULL_LOAD}+`,
    h("span", { class: "ring" }), "above 1");
}

function heat(links, range) {
  const times = links.times_ns;
  const length = links.interval.to_ns - links.interval.from_ns;
  return h("div", { class: "body" },
    h("div", { class: "scroll" }, h("table", { class: "heat" },
      h("caption", { class: "hidden" }, "Mean load of each link over time"),
      h("colgroup", null, h("col", { class: "names" }), h("col", { span: times.length }), h("col", { class: "tops" })),
      h("tbody", null, links.links.map((link) => h("tr", null,
        h("th", { scope: "row" }, h("a", { href: linkUrl(link, range) }, `${link.device} ${link.interface}`)),
        link.u_mean.map((u, i) => h("td", {
          class: u === null ? "gap" : u > 1 ? "hot" : null,
          style: u === null ? {} : { background: loadColour(u) },
          title: `${link.device} ${link.interface}\n${moment(times[i], length)}\n${u === null ? "no sample" : `mean load ${load(u)}, queue ${Math.round(link.queue_mean_bytes[i] / 1024)} KiB`}`,
        })),
        h("td", { class: "top-u num", title: "largest mean load" }, load(Math.max(...link.u_mean.map((u) => u || 0))))))),
      h("tfoot", null, h("tr", null, h("td", null), h("td", { colspan: times.length },
        h("div", { class: "ticks" }, [0, 0.25, 0.5, 0.75, 1].map((share) => h("span", null, share ? `+${span(share * length)}` : moment(links.interval.from_ns, length))))), h("td", null))))));
}

const flat = (row) => ({ ...row.flow, kind: row.kind, ...row.hop, u_mean: row.u_mean, u_max: row.u_max, since_ns: row.since_ns, contributors: row.contributors, confidence: row.confidence });

const cells = (links) => links.links.flatMap((link) => link.u_mean.map((u, i) => ({ time_ns: links.times_ns[i], device: link.device, interface: link.interface, u_mean: u, queue_mean_bytes: link.queue_mean_bytes[i] })));
