// The first page: what is bottlenecked, by place and with history, who meets there, and which flows suffer.

import { nothingStored } from "./absent.js";
import { get } from "./api.js";
import { chip, confidence, count, flowCell, head, hop, meter, right, strip } from "./cell.js";
import { apiLink, csvButton, empty, h, panel } from "./dom.js";
import { field, ofFilter, ofTime, pointed } from "./form.js";
import { cells, heat, legend } from "./heat.js";
import { sankey } from "./sankey.js";
import { after, kind, load, missed, moment, percent, span } from "./units.js";
import { during, overviewUrl } from "./views.js";

const COMMANDS = [
  "hopsight doctor                       # does anything arrive, and how far does it come?",
  "make demo                             # a fabric with known bottlenecks",
  "hopsight analyze CAPTURE --store DSN  # your own capture",
];
const MOST_ROWS = 50;

export async function overview(parameters) {
  const range = { from: parameters.get("from"), to: parameters.get("to") };
  const filter = parameters.get("filter") || "";
  let wrong = null;
  const sifted = get("/bottlenecks", { ...range, filter }).catch((error) => {
    if (!ofFilter(error)) throw error;
    wrong = error;
    return get("/bottlenecks", range);
  });
  const asked = await Promise.all([sifted, get("/links", range)]).catch((error) => {
    if (!ofTime(error)) throw error;
    return error;
  });
  if (!Array.isArray(asked)) return refused(asked, range, filter);
  const [found, links] = asked;
  if (!found.interval) {
    return { title: "overview", live: true, body: h("div", null, h("h1", null, "Nothing to show yet"), h("div", { class: "panel" }, await nothingStored("This page fills by itself as soon as something is stored.", COMMANDS))) };
  }
  const covered = found.interval;
  if (covered.to_ns <= found.stored.from_ns || covered.from_ns > found.stored.to_ns) return outside(found, range, filter);
  const more = range.from || range.to ? during(covered) : {};
  const flows = wrong ? [] : found.bottlenecks;
  const api = () => apiLink("/bottlenecks", { ...range, filter });
  return {
    title: "overview",
    about: found,
    body: h("div", null,
      h("h1", null, wrong ? "The filter is not understood" : headline(flows, found.more, filter)),
      h("p", { class: "lead" }, subline(flows, covered), missed(found.captured), filter && !wrong && " Only flows that the filter keeps are told; of a flow it asks about the hop with the largest load, which need not be the likeliest bottleneck."),
      times(found, range, filter), wrong && pointed(wrong, filter),
      placed(flows).length > 0 && panel("Where", "the links that hold flows back, the fullest first; each flow counts at its likeliest link",
        [csvButton("places", () => places(flows).map(flatPlace)), api()], placesTable(places(flows), links, covered, range)),
      placed(flows).length > 0 && panel("Who meets there", "sites of senders → links → flows", [csvButton("bottlenecks", () => flows.map(flat)), api()], sankey(placed(flows), new Map(places(flows).map((place) => [`${place.hop.device} ${place.hop.interface}`, place.u_mean])), range, more)),
      panel("Links over time", `${count(links.links.length, "link")}, each cell ${span(links.interval.step_ns)}${filter ? "; all of them, whatever the filter" : ""}`,
        [legend(), csvButton("links", () => cells(links)), apiLink("/links", range)],
        links.links.length ? heat(links, range)
          : empty("No link reported a load", "Frames of this time, if there are any, carried neither INT nor CSIG, so hops have no measured load. Marks still name congestion, not its place. What telemetry was seen is on the page Telemetry.", ["hopsight doctor"])),
      !wrong && panel("Flows that are held back", `${found.more ? "the first " : ""}${flows.length} of ${found.flows_seen} known, by load times the share of their time`, [csvButton("bottlenecks", () => flows.map(flat)), api()],
        flows.length ? flowsTable(flows, covered, range, more)
          : filter ? empty("No flow that is held back is kept by this filter", "Leave out one of its parts, or choose another time above.", null)
          : empty("No flow was held back by the network", `Of ${count(found.flows_seen, "known flow")} none had a hop above its capacity in this time: senders or receivers set the pace, or nothing was sent. Another time may be chosen above, or one flow looked at:`, ["hopsight where SRC:PORT DST:PORT"]))),
  };
}

/** A time that is refused: it can be corrected where it was typed. */
async function refused(error, range, filter) {
  const found = await get("/bottlenecks", { limit: 1 });
  if (!found.interval) throw error;
  return { title: "overview",
    body: h("div", null, h("h1", null, "This time is not understood"), times(found, range, filter), h("div", { class: "note", role: "alert" }, error.message)) };
}

/** A time of which the store holds nothing is no time in which nothing was wrong. */
function outside(found, range, filter) {
  const { from_ns: from, to_ns: to } = found.stored;
  return { title: "overview",
    body: h("div", null, h("h1", null, "Nothing is stored of this time"), h("p", { class: "lead" }, "Whether anything was bottlenecked then is not known."), times(found, range, filter),
      h("div", { class: "panel" }, empty("The store holds another time", `It is from ${moment(from, to - from)} to ${moment(to, to - from)} UTC.`, null, h("a", { href: overviewUrl({ filter }) }, "Show the latest")))) };
}

/** Flows whose place is known: marks alone say that a path is congested, and not where. */
const placed = (flows) => flows.filter((row) => row.hop);

/** One object a link: the largest of its flows' mean loads, who is held back there and since when. */
function places(flows) {
  const made = new Map();
  for (const row of placed(flows)) {
    const key = `${row.hop.device} ${row.hop.interface}`;
    const place = made.get(key) || { hop: row.hop, kinds: new Set(), flows: 0, u_mean: null, since_ns: row.since_ns, reroute: new Set(), confidence: 0 };
    place.kinds.add(row.kind);
    place.reroute.add(row.reroute_helps);
    place.flows += 1;
    if (row.u_mean !== null) place.u_mean = Math.max(place.u_mean ?? 0, row.u_mean);
    place.since_ns = Math.min(place.since_ns, row.since_ns);
    place.confidence = Math.max(place.confidence, row.confidence);
    made.set(key, place);
  }
  return [...made.values()].sort((a, b) => b.u_mean - a.u_mean);
}

function placesTable(rows, links, covered, range) {
  const timeline = (place) => links.links.find((link) => link.device === place.hop.device && link.interface === place.hop.interface);
  return h("div", { class: "scroll" }, h("table", { class: "list" },
    head(["Link", "Kind", "Highest flow's load", "Load over time", "Flows held back#", "Since#", "Rerouting helps", "Confidence"]),
    h("tbody", null, rows.map((place) => h("tr", null,
      h("td", { class: "hop" }, hop(place.hop, range)),
      h("td", null, [...place.kinds].map((name) => chip(true, kind(name)))),
      h("td", null, meter(place.u_mean)),
      h("td", null, timeline(place) ? strip(timeline(place).u_mean) : h("span", { class: "quiet" }, "see the link")),
      right(place.flows), right(after(place.since_ns - covered.from_ns)),
      h("td", null, place.reroute.size === 1 ? [...place.reroute][0] : "for some"),
      h("td", null, confidence(place.confidence)))))));
}

function headline(flows, more, filter) {
  if (!flows.length) return filter ? "Nothing that the filter keeps is known to be bottlenecked" : "Nothing is known to be bottlenecked";
  const hops = places(flows).length;
  return `${more ? "More than " : ""}${flows.length} ${flows.length === 1 ? "flow is" : "flows are"} held back ${hops ? `at ${count(hops, "hop")}` : "where no frame tells the place"}`;
}

function subline(flows, covered) {
  const length = covered.to_ns - covered.from_ns;
  const time = `${moment(covered.from_ns, length)} UTC, ${span(length)}`;
  const [worst] = places(flows);
  return worst ? `Most loaded: ${worst.hop.device} ${worst.hop.interface}, its highest flow's load ${load(worst.u_mean)}. Seen ${time}.` : `Seen ${time}.`;
}

/** Which time is shown, as a form: what the store holds may be longer, or lie in pieces. */
function times(found, range, filter) {
  const time = (name, shown) => field(name, name, { value: range[name] || "", placeholder: shown });
  const held = found.stored.to_ns - found.stored.from_ns;
  const submit = (event) => {
    event.preventDefault();
    location.hash = overviewUrl(Object.fromEntries(new FormData(event.target)));
  };
  return h("form", { class: "times", "aria-label": "Time and flows shown", onsubmit: submit }, time("from", found.interval.from), time("to", found.interval.to), field("filter", "filter", { value: filter, class: "long", placeholder: 'stage = "tor" and u.p99 > 0.95', maxlength: 1000 }), h("button", { type: "submit" }, "Show"),
    h("span", { class: "quiet" }, `The store holds ${moment(found.stored.from_ns, held)} to ${moment(found.stored.to_ns, held)} UTC.`));
}

function flowsTable(flows, covered, range, more) {
  const line = (row) => h("tr", null,
    flowCell(row.flow, more), h("td", { class: "hop" }, hop(row.hop, range)),
    h("td", null, chip(true, kind(row.kind)), h("div", { class: "where", title: "share of the flow's time" }, `for ${percent(row.share)}`)), h("td", null, meter(row.u_mean)),
    right(after(row.since_ns - covered.from_ns), { title: moment(row.since_ns, 1) }),
    right(row.contributors ? count(row.contributors, "flow") : "–"), h("td", null, confidence(row.confidence)));
  const body = h("tbody", null, flows.slice(0, MOST_ROWS).map(line));
  const rest = flows.slice(MOST_ROWS);
  const all = h("button", { type: "button", class: "rest", onclick: () => { body.append(...rest.map(line)); all.remove(); } }, `Show ${rest.length} more`);
  return [h("div", { class: "scroll" }, h("table", { class: "list" }, head(["Flow", "Bottleneck", "Kind", "Load u", "Since#", "Shared by#", "Confidence"]), body)), rest.length > 0 && all];
}

const flat = (row) => ({ ...row.flow, kind: row.kind, ...row.hop, u_mean: row.u_mean, u_max: row.u_max, share: row.share, since_ns: row.since_ns, contributors: row.contributors, confidence: row.confidence, src_site: row.src_site, dst_site: row.dst_site });

const flatPlace = (place) => ({ ...place.hop, kinds: [...place.kinds].join(" "), u_mean: place.u_mean, flows: place.flows, since_ns: place.since_ns, confidence: place.confidence });
