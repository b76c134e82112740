// Elements from data. Text always goes in as text, so nothing that a capture holds can become markup.

import { address, exact } from "./api.js";

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: h("td", {class: "num", onclick: f}, "text", child, …). */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** A titled panel with optional tools at its right end. */
export function panel(title, note, tools, ...body) {
  return h("section", { class: "panel", "aria-label": title },
    h("header", null, h("h2", null, title), note && h("span", { class: "quiet" }, note),
      h("span", { class: "tools" }, tools || [])),
    ...body);
}

/** An empty state: what is missing, why, the commands that fix it, and where to go on. */
export function empty(title, why, commands, ...links) {
  return h("div", { class: "empty" }, h("h2", null, title), h("div", null, why),
    commands && h("pre", null, commands.join("\n")), links.flat().filter(Boolean).map((link) => h("p", null, link)));
}

/** A link to the question of the API that a panel answers. */
export const apiLink = (path, asked) => h("a", { href: address(path, asked) }, "API");

/** A button that saves rows (an array of flat objects) as CSV. */
export function csvButton(name, rows) {
  return h("button", { type: "button", onclick: () => saveCsv(name, rows()) }, "CSV");
}

function saveCsv(name, rows) {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns, ...rows.map((row) => columns.map((column) => exact(row, column)))];
  const blob = new Blob([lines.map((line) => line.map(cell).join(",")).join("\n") + "\n"], { type: "text/csv" });
  const link = h("a", { href: URL.createObjectURL(blob), download: `${name}.csv` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
