// The fabric as a map: each link coloured and widened by its load at the time that a slider shows.

import { nothingStored } from "./absent.js";
import { address, exact, get } from "./api.js";
import { count, head, hop, meter, right } from "./cell.js";
import { FULL_LOAD, loadColour } from "./colour.js";
import { apiLink, csvButton, empty, h, panel, svg } from "./dom.js";
import { cells, legend } from "./heat.js";
import { BOX, placed, portPlace } from "./tier.js";
import { bytes, load, moment, span } from "./units.js";
import { addressed, fabricUrl, linkUrl, nanoseconds, rangeOf } from "./views.js";

const MOST_LINKS = 200;
const MOST_DEVICES = 60;
const MOST_ROWS = 12;
const STEP_MS = 220;

export async function fabric(parameters) {
  const write = addressed();
  const range = { from: parameters.get("from"), to: parameters.get("to") };
  const asked = { ...range, limit: MOST_LINKS };
  const links = await get("/links", asked);
  if (!links.interval) return { title: "fabric", live: true, body: h("div", null, h("h1", null, "Fabric"), h("div", { class: "panel" }, await nothingStored("The map comes by itself as soon as something is stored.", ["hopsight doctor", "hopsight analyze CAPTURE --store DSN"]))) };
  const known = await get("/topology", { at: links.interval.to_ns - 1 });
  const body = known.hops.length ? map(links, known, parameters, range, asked, write)
    : h("div", { class: "panel" }, empty("No topology was told", `${links.links.length ? "Links have loads, but which devices they join is not known" : "No link reported a load, and which links there are is not known"}. A topology names them:`, ["hopsight topology import containerlab clab.yaml --output topology.yaml", "HOPSIGHT_PIPELINE__TOPOLOGY=topology.yaml hopsight serve"]));
  return { title: "fabric", about: links, body: h("div", null, h("h1", null, "Fabric"), h("p", { class: "lead" }, "Egress ports coloured by mean load. Width and colour say the same; above 1 a port cannot carry what arrives."), body) };
}

const key = (place) => `${place.device} ${place.interface}`;

function map(links, known, parameters, range, asked, write) {
  // A time of the slider is one of the time that was loaded: more may be stored by when its address, or a link, is opened.
  const within = range.from && range.to ? range : rangeOf(links.interval);
  const begin = start(parameters, links);
  const note = begin.note && h("div", { class: "note", role: "alert" }, begin.note);
  const loads = new Map(links.links.map((link) => [key(link), link]));
  const hops = drawn(known.hops, loads);
  const plan = placed(hops);
  const ports = hops.map((one) => port(one, plan, loads.get(key(one)), within));
  const last = links.times_ns.length - 1;
  const clock = h("output", { class: "num clock", for: "moment" });
  const table = h("tbody");
  const slider = h("input", { type: "range", id: "moment", min: 0, max: last, step: 1, value: begin.at });
  const show = () => {
    const at = Number(slider.value);
    const text = moment(links.times_ns[at], links.interval.to_ns - links.interval.from_ns);
    clock.textContent = `${text} UTC`;
    slider.setAttribute("aria-valuetext", text);
    ports.forEach((one) => one.paint(at));
    table.replaceChildren(...rows(links, at, within));
  };
  /** A time that somebody chose is in the address; the latest is not, and goes on with the data. */
  const chosen = () => {
    show();
    const at = Number(slider.value);
    if (note) note.remove();
    write(fabricUrl({ ...(at < last ? within : range), device: parameters.get("device"), t: at < last ? exact(links.times_ns, at) : "" }));
  };
  slider.addEventListener("input", chosen);
  show();
  const picture = svg("svg", { class: "fabric", viewBox: `0 0 ${plan.width} ${plan.height}`, style: { minWidth: "760px" }, role: "group", "aria-label": "Devices and the load of their ports" },
    ports.filter((one) => one.joins).map((one) => one.element), [...plan.devices.values()].map((device) => box(device, parameters.get("device"))), ports.filter((one) => !one.joins).map((one) => one.element));
  const hidden = known.hops.length - hops.length;
  return h("div", null, note,
    panel("Map", `${count(plan.devices.size, "device")}, topology ${known.version}${hidden ? `; ${count(hidden, "port")} without load left out` : ""}`, [legend(), csvButton("fabric", () => cells(links)), apiLink("/links", asked), h("a", { href: address("/topology", { at: links.interval.to_ns - 1 }) }, "Topology")],
      h("div", { class: "slide" }, play(slider, last, chosen), h("label", { for: "moment" }, "Time"), slider, clock), h("div", { class: "body" }, h("div", { class: "scroll" }, picture))),
    panel("Fullest ports at that time", `each cell ${span(links.interval.step_ns)}`, [csvButton("fullest", () => fullest(links, Number(slider.value)).map((link) => flat(links, link, Number(slider.value)))), apiLink("/links", asked)], h("div", { class: "scroll" }, h("table", { class: "list" }, head(["Port", "Load u", "Queue#", "Flows that name it#"]), table))));
}

/** All ports of a small fabric; of a large one those that were loaded, and none beyond the most devices. */
function drawn(hops, loads) {
  if (new Set(hops.map((one) => one.device)).size <= MOST_DEVICES) return hops;
  const loaded = hops.filter((one) => loads.has(key(one)));
  const devices = new Set([...new Set(loaded.flatMap((one) => [one.device, one.peer_device]))].slice(0, MOST_DEVICES));
  return loaded.filter((one) => devices.has(one.device));
}

/** Where the slider begins: at the cell of the time that the address names, else at the latest that was told; a note where they differ. */
function start(parameters, links) {
  const { times_ns: times, interval } = links;
  const last = times.length - 1;
  const text = parameters.get("t");
  const asked = text ? Number(nanoseconds(text) ?? NaN) : NaN;
  if (Number.isNaN(asked)) {
    const at = times.findLastIndex((_, place) => links.links.some((link) => link.u_mean[place] !== null));
    return { at: at < 0 ? last : at, note: text && `“${text}” is no time; the latest is shown.` };
  }
  const early = asked < times[0];
  const outside = early || asked >= times[last] + interval.step_ns;
  return {
    at: early ? 0 : times.findLastIndex((ns) => ns <= asked),
    note: outside && `The time asked for, ${moment(asked, 1)} UTC, lies ${early ? "before" : "after"} what was loaded; the ${early ? "first" : "last"} of that is shown.`,
  };
}

/** One egress port: a line to another device, or a square to a host. */
function port(one, plan, link, range) {
  const from = plan.devices.get(one.device);
  const to = plan.devices.get(one.peer_device);
  const title = svg("title");
  const d = to && wire(from, to, one);
  const shape = to ? svg("path", { d, fill: "none" }) : square(from, one);
  const casing = to && svg("path", { d, fill: "none", class: "casing" });
  const element = svg("a", { href: linkUrl(one, range), class: "port", "aria-label": `${key(one)} to ${one.peer_device || "unknown"}` }, title, casing, shape);
  const paint = (at) => {
    const u = link ? link.u_mean[at] : null;
    shape.setAttribute("class", u === null ? "none" : u > 1 ? "over" : "some");
    if (to) {
      casing.style.display = u > 1 ? "" : "none";
      shape.style.stroke = u === null ? "" : loadColour(u);
      shape.style.strokeWidth = u === null ? "" : 1.5 + 2 * Math.min(u, FULL_LOAD);
    } else shape.style.fill = u === null ? "" : loadColour(u);
    title.textContent = `${key(one)} → ${one.peer_device}\n${u === null ? "no sample" : `mean load ${load(u)}`}`;
  };
  return { element, paint, joins: Boolean(to) };
}

/** A line beside that of the other direction. */
function wire(from, to, one) {
  const down = to.y >= from.y;
  const [y1, y2] = down ? [from.y + BOX, to.y] : [from.y, to.y + BOX];
  const side = down ? 4.5 : -4.5;
  if (from.y === to.y) return `M${from.x + from.width / 2} ${from.y}Q${(from.x + to.x + from.width) / 2} ${from.y - 46 - side} ${to.x + to.width / 2} ${to.y}`;
  const lane = 3 * (Number((one.interface.match(/\d+$/) || [0])[0]) % 2);
  return `M${from.hooks.get(to.name) + side + lane} ${y1}L${to.hooks.get(from.name) + side + lane} ${y2}`;
}

function square(device, one) {
  const place = portPlace(device, device.ports.indexOf(one));
  return svg("rect", { x: place.x, y: place.y, width: place.size, height: place.size, rx: 2 });
}

function box(device, chosen) {
  return svg("g", { class: device.name === chosen ? "device chosen" : "device" },
    svg("rect", { x: device.x, y: device.y, width: device.width, height: BOX, rx: 8 }),
    svg("text", { x: device.x + device.width / 2, y: device.y + 17, "text-anchor": "middle" }, device.name),
    svg("text", { x: device.x + device.width / 2, y: device.y + 32, "text-anchor": "middle", class: "note" }, device.stage));
}

/** A button that moves the slider on until its end. */
function play(slider, last, chosen) {
  let timer = null;
  const stop = () => { clearInterval(timer); timer = null; button.textContent = "Play"; };
  const button = h("button", { type: "button", class: "press", onclick: () => {
    if (timer) { stop(); return; }
    if (Number(slider.value) >= last) slider.value = 0;
    button.textContent = "Pause";
    timer = setInterval(() => {
      if (!button.isConnected || Number(slider.value) >= last) { stop(); return; }
      slider.value = Number(slider.value) + 1;
      chosen();
    }, STEP_MS);
  } }, "Play");
  return button;
}

/** The ports with the largest load at a time. */
const fullest = (links, at) => links.links.filter((link) => link.u_mean[at] !== null).sort((a, b) => b.u_mean[at] - a.u_mean[at]).slice(0, MOST_ROWS);

const flat = (links, link, at) => ({ time_ns: exact(links.times_ns, at), device: link.device, interface: link.interface, u_mean: link.u_mean[at], queue_mean_bytes: link.queue_mean_bytes[at], flows: link.flows[at] });

function rows(links, at, within) {
  const here = fullest(links, at);
  if (!here.length) return [h("tr", null, h("td", { colspan: 4, class: "quiet" }, "No port reported a load at this time."))];
  return here.map((link) => h("tr", null, h("td", { class: "hop" }, hop(link, within)), h("td", null, meter(link.u_mean[at])), right(bytes(link.queue_mean_bytes[at])), right(link.flows[at])));
}
