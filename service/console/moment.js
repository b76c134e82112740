// What is shown of one decision: its sentence, variables, the path and its loads, and the lit line of the pseudo-code.

import { FULL_LOAD, loadColour } from "./colour.js";
import { h } from "./dom.js";
import { kind, load } from "./units.js";

/** The pseudo-code; `light(branch)` marks the lines that a branch goes through. */
export function code(lines) {
  const rows = lines.map((line) => h("li", { style: { paddingLeft: `${line.indent * 22 + 10}px` } }, h("span", { class: "number", "aria-hidden": "true" }, line.number), line.text));
  const light = (branch) => rows.forEach((row, at) => {
    const lit = lines[at].branches.includes(branch);
    row.classList.toggle("lit", lit);
    if (lit) row.setAttribute("aria-current", "step");
    else row.removeAttribute("aria-current");
  });
  return { element: h("ol", { class: "code" }, rows), light };
}

/** The hops of the path at that instant; the one that decided is framed. */
export function hops(one) {
  if (!one.u_hops?.length) return h("p", { class: "body quiet" }, "This decision heard no load of a hop.");
  return h("div", { class: "path" }, one.u_hops.map((u, at) => [at > 0 && h("span", { class: "wire", "aria-hidden": "true" }),
    h("div", { class: at === one.u_hop ? "stop here" : "stop" },
      h("div", { class: "name" }, one.hops?.[at] || `hop ${at}`), h("div", { class: "load" }, u === null ? "u' unknown" : `u' ${load(u)}`),
      h("div", { class: "bar" }, h("i", { style: { width: `${Math.min(100, ((u || 0) / FULL_LOAD) * 100)}%`, background: loadColour(u || 0) } })))]));
}

const shown = (value) => (value === null || value === undefined ? "–" : typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(6)) : String(value));

/** Variables beside each other, of one run or two; what only the second algorithm has comes last. */
export function variables(names, one, other, second) {
  const own = Object.keys(other || {}).filter((name) => !(name in one) && typeof other[name] !== "object");
  const rows = ["branch", ...names.filter((name) => name !== "u_hops" && name !== "faults"), "acked_bytes", "marked_bytes", "inflight_bytes", ...own];
  return h("table", { class: "list variables" }, h("caption", { class: "hidden" }, "Variables after this decision"),
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "Variable"), h("th", { scope: "col", class: "right" }, other ? "First run" : "Value"), other && h("th", { scope: "col", class: "right" }, second))),
    h("tbody", null, rows.map((name) => h("tr", { class: other && other[name] !== one[name] ? "differs" : null }, h("th", { scope: "row" }, name),
      h("td", { class: "num right" }, name === "branch" ? kind(one[name]) : shown(one[name])), other && h("td", { class: "num right" }, name === "branch" ? kind(other[name]) : shown(other[name]))))));
}
