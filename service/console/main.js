// Reads the URL, draws the view that it names, and says in plain words when that fails.

import { alerts } from "./alerts.js";
import { ApiError, sending } from "./api.js";
import { captures } from "./captures.js";
import { empty, h } from "./dom.js";
import { fabric } from "./fabric.js";
import { find } from "./find.js";
import { flow } from "./flow.js";
import { link } from "./link.js";
import { ALL, end, moment, numeric, percent, PROTOCOL, span } from "./units.js";
import { onScheme } from "./colour.js";
import { keeping, listening } from "./kept.js";
import { follows, listen, pause } from "./live.js";
import { login, who } from "./login.js";
import { overview } from "./overview.js";
import { replay } from "./replay.js";
import { te } from "./te.js";
import { telemetry } from "./telemetry.js";
import { current, filterUrl, findUrl, flowUrl, isFilter } from "./views.js";

const VIEWS = { "/": overview, "/flow": flow, "/link": link, "/find": find, "/fabric": fabric, "/te": te, "/telemetry": telemetry, "/replay": replay, "/alerts": alerts, "/captures": captures };

const view = document.getElementById("view");
const AGAIN_MS = 10_000;
const LOOK_MS = 2000;
let drawing = 0;
/** The view that stands, if it was drawn well, and how it is drawn again. */
let standing = {};

async function draw(moved, beside = false) {
  const turn = ++drawing;
  const { hash } = location;
  const { path, parameters } = current();
  pause();
  clearTimeout(put_off);
  view.setAttribute("aria-busy", "true");
  const made = await (VIEWS[path] || missing)(parameters).catch(failed);
  if (turn !== drawing) return;
  const later = () => setTimeout(() => { if (turn === drawing) refresh(); }, AGAIN_MS);
  const refused = made.refused && !moved && standing.path === path;
  if (refused || beside && (working() || location.hash !== hash)) {
    // What was told before is worth more than that there is nothing new, and what somebody does there even more.
    if (refused) covered(standing.about, `not of now: ${made.refused}`);
    view.setAttribute("aria-busy", "false");
    listen(standing.live, refresh);
    later();
    return;
  }
  if (moved) view.replaceChildren(made.body);
  else keeping(view, () => view.replaceChildren(made.body));
  document.title = `${made.title} · hopsight`;
  for (const place of document.querySelectorAll(".top nav a")) {
    if (place.getAttribute("href") === `/#${path}`) place.setAttribute("aria-current", "page");
    else place.removeAttribute("aria-current");
  }
  covered(made.about || {});
  reachable();
  view.setAttribute("aria-busy", "false");
  const live = Boolean(made.about?.interval || made.live) && follows(path, parameters);
  standing = made.refused ? {} : { path, about: made.about || {}, live };
  listen(live, refresh);
  if (made.again) later();
  if (made.drawn) made.drawn();
  if (moved) { window.scrollTo(0, 0); view.focus({ preventScroll: true }); }
}

/** Where the focus may stay while a view is drawn anew (`keeping`): a field would be taken from under somebody's hands. */
const STAYS = "a, button";
const WAITS = "not of now: what is new waits until the focus leaves";

/** Whether somebody is at work in the view, or what they asked for is. */
const working = () => {
  const at = document.activeElement;
  return sending() || view !== at && view.contains(at) && !at.matches(STAYS);
};

let put_off = null;

/** Draw the same view again, as soon as nobody is at work in it. */
function refresh() {
  clearTimeout(put_off);
  if (!working()) { draw(false, true); return; }
  covered(standing.about || {}, WAITS);
  put_off = setTimeout(refresh, LOOK_MS);
}

/** What is wider than its place can be scrolled with the keyboard. */
function reachable() {
  for (const place of view.querySelectorAll(".scroll, .path, pre")) {
    if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
    else place.removeAttribute("tabindex");
  }
}

/** Which time the view is about, and how much of it is known: what is whole is not told. */
function covered({ interval, captured, completeness }, said = null) {
  const length = interval ? interval.to_ns - interval.from_ns : 0;
  const parts = interval ? [`Covers ${moment(interval.from_ns, length)} to ${moment(interval.to_ns, length)} UTC (${span(length)})`] : [];
  if (numeric(interval?.covered) && interval.covered < ALL) parts.push(`${percent(interval.covered)} of it judged`);
  if (numeric(captured) && captured < 1) parts.push(`${percent(captured)} captured`);
  if (numeric(completeness)) parts.push(`telemetry speaks of ${percent(completeness)}`);
  document.getElementById("covered").textContent = [...parts, said].filter(Boolean).join(" · ");
}

// The address names the view: a link to a place on the page would lead to another one.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("view").focus();
});

async function missing() {
  return { title: "not found", body: h("div", null, h("h1", null, "There is no such page"), h("p", { class: "lead" }, h("a", { href: "#/" }, "Back to the overview"))) };
}

/** What may be done about a problem. */
function more(error) {
  if (!(error instanceof ApiError)) return ["hopsight doctor  # checks every stage"];
  const flows = error.problem.flows || [];
  return flows.length ? flows.map((flow) => `hopsight where ${end(flow.src, flow.sport)} ${end(flow.dst, flow.dport)}${told(flow).map(([name, value]) => ` --${name} ${value}`).join("")}`) : null;
}

/** What tells a flow from others with the same ends, as options of a command; most are of TCP and of no network. */
const told = ({ protocol, tenant, vrf, vni }) => Object.entries({ proto: PROTOCOL[protocol]?.toLowerCase() ?? protocol, tenant, vrf, vni: vni || undefined }).filter(([, value]) => value && value !== "tcp");

/** Links to the flows that may have been meant. */
function others(error) {
  const flows = error.problem?.flows || [];
  return flows.map((one) => h("a", { href: flowUrl(one) }, `${end(one.src, one.sport)} → ${end(one.dst, one.dport)}${told(one).map(([name, value]) => ` ${name} ${value}`).join("")}`));
}

function failed(error) {
  if (error instanceof ApiError && error.problem.status === 401) return { title: "log in", body: login(() => { known(); draw(true); }) };
  if (!(error instanceof ApiError)) console.error(error);
  const why = error instanceof ApiError ? error.message : "The console failed while drawing this page.";
  const absent = error.problem?.status === 404;
  const again = error instanceof ApiError && error.passes;
  return { title: absent ? "nothing to show" : "error", again, refused: again && why, body: h("div", null, h("h1", null, absent ? "Nothing to show" : "No answer"), h("div", { class: "panel" }, empty(heading(error), why, more(error), others(error)))) };
}

/** What a page is called that has nothing to show; an answer that never came refuses nothing. */
const heading = (error) => {
  if (!(error instanceof ApiError)) return "This page failed";
  const { status, field } = error.problem || {};
  if (status === 404) return field === "at" ? "Nothing is known of this at that time" : "Nothing is known of this";
  return status ? "The service refused" : "The service is away";
};

/** What was typed or pasted, on one line. */
const words = (form) => (form.get("q") || "").replace(/\s+/g, " ").trim();

/** Where a text leads: to the flows of a filter, or of the ends that it names. */
const sought = (text) => (isFilter(text) ? filterUrl(text) : findUrl(text));

document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  location.hash = sought(words(new FormData(event.target)));
});

/** A slash anywhere but in a field moves to the search box; what is pasted next takes the place of what it held. */
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea")) return;
  event.preventDefault();
  const box = document.getElementById("query");
  box.focus();
  box.select();
});

async function version() {
  const answer = await fetch("/healthz").then((reply) => reply.json()).catch(() => ({}));
  document.getElementById("version").textContent = answer.version ? `hopsight ${answer.version}` : "";
}

/** Say who is logged in; whoever logs out is asked for a token again. */
const known = () => who(document.getElementById("who"), () => { listen(false); draw(true); });

/** Who leaves what was found has no more use for its text in the box; what somebody types elsewhere stays. */
let here = current().path;
function left() {
  const before = here;
  here = current().path;
  if (before === "/find" && here !== "/find") document.getElementById("query").value = "";
}

addEventListener("hashchange", () => { left(); draw(true); });
addEventListener("hopsight:again", () => draw(false));
addEventListener("resize", reachable);
onScheme(() => draw(false));
listening(view);
version();
known();
const asked = new URLSearchParams(location.search);
if (asked.has("q")) location.replace(`/${sought(words(asked))}`);
else draw(false);
