// Replay: a flow's decisions step by step, with the path at that instant and the pseudo-code; two runs overlaid.

import { ApiError, get } from "./api.js";
import { count, head, right } from "./cell.js";
import { NAMES } from "./colour.js";
import { apiLink, csvButton, empty, h, panel } from "./dom.js";
import { conduct } from "./conduct.js";
import { code, hops, variables } from "./moment.js";
import { before, divergence, MOST, rowsOf, run } from "./run.js";
import { timeline } from "./timeline.js";
import { kind, moment, span } from "./units.js";
import { addressed, current, flowUrl, replayUrl } from "./views.js";

const FIELDS = ["src", "dst", "proto", "tenant", "vrf", "vni", "from", "to", "point"];
const SPEEDS = [1, 5, 20, 100, 500];
const TICK_MS = 50;
const AROUND = 4;
const SPANS = [[0, "all decisions"], [2000, "2000 around it"], [200, "200 around it"]];

export async function replay(parameters) {
  const write = addressed();
  const asked = Object.fromEntries(FIELDS.map((name) => [name, parameters.get(name)]));
  if (!asked.src || !asked.dst) return chooser();
  const told = (name) => (parameters.get(name) || "").split(/[\s,]+/).filter(Boolean);
  const known = (await get("/replay/algorithms")).algorithms;
  const name = `${asked.src} → ${asked.dst}`;
  const title = h("h1", { class: "mono" }, name);
  const other = told("with");
  let [first, second] = [null, null];
  try {
    first = await run({ ...asked, algorithm: parameters.get("algorithm"), set: told("set") });
    second = other.length ? await run(secondOf(asked, first, other)) : null;
  } catch (error) {
    if (!(error instanceof ApiError) || !told("set").length && !other.length) throw error;
    return { title: name, body: h("div", null, title, form(parameters, first, known), h("div", { class: "panel" }, empty("That was refused", `${error.message}. Change it above and run it again.`))) };
  }
  const top = [h("p", { class: "crumb" }, h("a", { href: flowUrl(first.flow) }, "Flow"), " / replay"), title];
  const controls = form(parameters, first, known);
  if (!first.decisions.length) {
    const why = first.observations ? `${count(first.observations, "frame")} of the flow are held, but none led to a decision of ${first.asked.algorithm || "HPCC++ or DCTCP"}. The reverse direction, or an algorithm run by name, may have some.` : "The store holds no frames of the flow in that time: they were not stored, or their retention is over. A capture can be replayed instead:";
    return { title: name, body: h("div", null, top, controls, h("div", { class: "panel" }, empty("Nothing was decided", why, [`hopsight replay CAPTURE --flow "${asked.src} ${asked.dst}" --explain`]))) };
  }
  const { body, drawn } = player(parameters, first, second, known, write);
  return { title: `replay ${name}`, about: first, drawn, body: h("div", null, top, controls, first.notes.map((text) => h("p", { class: "note" }, text)), body) };
}

function chooser() {
  return { title: "replay", body: h("div", null, h("h1", null, "Replay"), h("div", { class: "panel" }, empty("Which flow?", ["A replay steps through one flow's decisions. Open a flow from ", h("a", { href: "#/" }, "the overview"), " or ", h("a", { href: "#/find" }, "the list of flows"), " and choose “Replay each ACK”; from a capture:"], ['hopsight replay CAPTURE --flow "SRC:PORT DST:PORT" --explain']))) };
}

/** The second run: other parameters, or `algorithm=NAME`, on the same signals. */
function secondOf(asked, first, told) {
  const algorithm = told.find((text) => text.startsWith("algorithm="))?.slice("algorithm=".length) || first.algorithm;
  return { ...asked, algorithm, set: [...first.asked.set, ...told.filter((text) => !text.startsWith("algorithm="))] };
}

function form(parameters, first, known) {
  const submit = (event) => {
    event.preventDefault();
    location.hash = replayUrl({ ...Object.fromEntries(current().parameters), ...Object.fromEntries(new FormData(event.target)) });
  };
  const text = (name, label, hint) => h("label", null, label, " ", h("input", { name, value: parameters.get(name) || "", placeholder: hint, spellcheck: "false", autocomplete: "off" }));
  return h("form", { class: "times", "aria-label": "What is run", onsubmit: submit },
    h("label", null, "Algorithm ", h("select", { name: "algorithm" }, h("option", { value: "" }, `as packets show${first?.algorithm && !parameters.get("algorithm") ? ` (${first.algorithm})` : ""}`), known.map((one) => h("option", { value: one.name, selected: one.name === parameters.get("algorithm") }, one.name)))),
    text("set", "with", "eta=0.95 maxStage=5"), text("with", "beside it", "eta=0.8, or algorithm=swift"), h("button", { type: "submit", class: "press" }, "Run"));
}

function player(parameters, first, second, known, write) {
  const { decisions } = first;
  const table = known.find((one) => one.name === first.algorithm);
  const listing = code(table.pseudocode);
  const parts = { sentence: h("p", { class: "sentence small" }), facts: h("p", { class: "aside" }), hops: h("div"), variables: h("div", { class: "scroll" }), around: h("tbody") };
  const place = h("output", { class: "num clock", for: "step" });
  const lens = zoom(parameters, first, second, (ns) => go(before(decisions, ns)), () => go(at));
  const slider = h("input", { type: "range", id: "step", min: 0, max: decisions.length - 1, value: 0, oninput: () => go(Number(slider.value)) });
  let at = 0;
  function show(next) {
    at = Math.min(decisions.length - 1, Math.max(0, next));
    const one = decisions[at];
    const other = second?.decisions[before(second.decisions, one.time_ns)];
    slider.value = at;
    place.textContent = `${at + 1} of ${decisions.length}`;
    slider.setAttribute("aria-valuetext", `decision ${at + 1}: ${kind(one.branch)}`);
    lens.show(at);
    listing.light(one.branch);
    parts.sentence.textContent = one.sentence || kind(one.branch);
    parts.facts.textContent = `${moment(one.time_ns, 1e6)} UTC, +${span(one.time_ns - decisions[0].time_ns)}; frame ${one.frame} at ${one.point}; ${one.line || ""}; state ${one.standing || one.quality}`;
    parts.hops.replaceChildren(hops(one));
    parts.variables.replaceChildren(variables(table.variables, one, other, second && second.algorithm !== first.algorithm ? `Second run (${second.algorithm})` : "Second run"));
    parts.around.replaceChildren(...around(decisions, at, go));
  }
  const tell = () => write(replayUrl({ ...Object.fromEntries(parameters), zoom: lens.width() || "", at }));
  function go(next) {
    show(next);
    tell();
  }
  const split = second ? divergence(first, second) : null;
  const api = () => apiLink("/replay/decisions", first.asked);
  const body = h("div", null,
    panel("Timeline", note(first, second, split), [split !== null && h("button", { type: "button", onclick: () => go(split) }, "To where they part"), csvButton("decisions", () => decisions.map(flat)), api()],
      h("div", { class: "slide" }, buttons(() => at, go, decisions.length), h("label", { for: "step" }, "Decision"), slider, place, lens.choice), h("div", { class: "body" }, lens.element)),
    h("div", { class: "pair" },
      panel("At this ACK", null, [], h("div", { class: "body" }, parts.sentence, parts.facts), parts.hops, parts.variables),
      panel("Pseudo-code", first.algorithm, [], listing.element)),
    conduct(first.conformance, decisions, (at) => go(at)),
    panel("Decisions around it", null, [csvButton("decisions", () => decisions.map(flat)), api()], h("div", { class: "scroll" }, h("table", { class: "list" }, head(["Decision#", "Time#", "Frame#", "Branch", "Sentence"]), parts.around))));
  show(Math.trunc(Number(parameters.get("at"))) || 0);
  // A view that another one has overtaken is never seen, so it is in no address.
  return { body, drawn: tell };
}

/** The timeline of all decisions, or of those around the one that is shown. */
function zoom(parameters, first, second, pick, stay) {
  const total = first.decisions.length;
  const element = h("div");
  let [drawn, line] = [[-1, -1], null];
  const choice = h("select", { "aria-label": "Decisions on the timeline", onchange: stay }, SPANS.map(([value, text]) => h("option", { value, selected: String(value) === parameters.get("zoom") }, text)));
  const width = () => Number(choice.value);
  function show(at) {
    const half = width() ? width() / 2 : total;
    const page = Math.floor(at / half) * half;
    const [low, high] = [Math.max(0, page - half / 2), Math.min(total - 1, page + half * 1.5)];
    if (low !== drawn[0] || high !== drawn[1]) {
      drawn = [low, high];
      line = timeline(rowsOf(first, second, NAMES, low, high), first.decisions[low].time_ns, first.decisions[high].time_ns, pick);
      element.replaceChildren(line.element);
    }
    line.move(first.decisions[at].time_ns);
  }
  return { element, choice, width, show };
}

function note(first, second, split) {
  const told = [`${count(first.total, "decision")} out of ${count(first.observations, "frame")}`];
  if (first.total > MOST) told.push(`the first ${MOST} are shown; choose a shorter time with from and to`);
  if (first.algorithms.length > 1) told.push(`also ran: ${first.algorithms.slice(1).join(", ")}`);
  if (second) told.push(split === null ? "both runs decide the same; the signals are held fixed" : `the runs part at decision ${split + 1}; the signals are held fixed`);
  return told.join("; ");
}

function buttons(where, go, total) {
  const speed = h("select", { "aria-label": "Speed" }, SPEEDS.map((value) => h("option", { value, selected: value === 20 }, `${value} ACK/s`)));
  let timer = null;
  let due = 0;
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
  const tick = () => {
    due += (Number(speed.value) * TICK_MS) / 1000;
    const steps = Math.floor(due);
    due -= steps;
    if (!play.isConnected || where() >= total - 1) stop();
    else if (steps) go(where() + steps);
  };
  const play = h("button", { type: "button", class: "press", onclick: () => {
    if (timer) { stop(); return; }
    if (where() >= total - 1) go(0);
    play.textContent = "Pause";
    timer = setInterval(tick, TICK_MS);
  } }, "Play");
  const step = (text, by) => h("button", { type: "button", class: "press small", onclick: () => { if (timer) stop(); go(where() + by); } }, text);
  return [play, step("Back", -1), step("Next", 1), speed];
}

function around(decisions, at, go) {
  const from = Math.max(0, at - AROUND);
  return decisions.slice(from, at + AROUND + 1).map((one, i) => h("tr", { class: from + i === at ? "current" : null, "aria-current": from + i === at ? "true" : null },
    h("td", { class: "num right" }, h("button", { type: "button", onclick: () => go(from + i) }, from + i + 1)), right(`+${span(one.time_ns - decisions[0].time_ns)}`), right(one.frame),
    h("td", null, kind(one.branch)), h("td", { class: "where" }, one.sentence)));
}

const flat = (one) => ({ ...one, u_hops: (one.u_hops || []).join(" "), hops: (one.hops || []).join(" > "), fault_names: (one.fault_names || []).join(" ") });
