// Reads the URL, draws the view that it names, and says in plain words when that fails.

import { ApiError } from "./api.js";
import { empty, h } from "./dom.js";
import { find } from "./find.js";
import { flow } from "./flow.js";
import { link } from "./link.js";
import { moment, span } from "./units.js";
import { onScheme } from "./colour.js";
import { overview } from "./overview.js";
import { current, findUrl } from "./views.js";

const VIEWS = { "/": overview, "/flow": flow, "/link": link, "/find": find };

const view = document.getElementById("view");
let drawing = 0;

async function draw(moved) {
  const turn = ++drawing;
  const { path, parameters } = current();
  view.setAttribute("aria-busy", "true");
  const made = await (VIEWS[path] || missing)(parameters).catch(failed);
  if (turn !== drawing) return;
  view.replaceChildren(made.body);
  document.title = `${made.title} · hopsight`;
  covered(made.interval);
  view.setAttribute("aria-busy", "false");
  if (made.drawn) made.drawn();
  if (moved) { window.scrollTo(0, 0); view.focus({ preventScroll: true }); }
}

function covered(interval) {
  const length = interval ? interval.to_ns - interval.from_ns : 0;
  document.getElementById("covered").textContent = interval
    ? `Covers ${moment(interval.from_ns, length)} to ${moment(interval.to_ns, length)} UTC (${span(length)})` : "";
}

async function missing() {
  return { title: "not found", body: empty("There is no such page", h("a", { href: "#/" }, "Back to the overview")) };
}

function failed(error) {
  if (!(error instanceof ApiError)) console.error(error);
  const why = error instanceof ApiError ? error.message : "The console failed while drawing this page.";
  return { title: "error", body: h("div", { class: "panel" }, empty("No answer", why)) };
}

document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  location.hash = findUrl(new FormData(event.target).get("q").trim());
});

async function version() {
  const answer = await fetch("/healthz").then((reply) => reply.json()).catch(() => ({}));
  document.getElementById("version").textContent = answer.version ? `hopsight ${answer.version}` : "";
}

addEventListener("hashchange", () => draw(true));
onScheme(() => draw(false));
version();
draw(false);
