// What forms of the console share: fields with labels, and what is said when the service refuses one.

import { ApiError } from "./api.js";
import { h } from "./dom.js";

/** A field of text with its label. */
export const field = (name, label, more = {}) => h("label", null, label, " ", h("input", { name, spellcheck: "false", autocomplete: "off", ...more }));

/** A field with a few values to choose from: [value, text] each. */
export const choice = (name, label, options, chosen) => h("label", null, label, " ", h("select", { name }, options.map(([value, text]) => h("option", { value, selected: value === chosen }, text))));

/** What was typed into a form, by the name of the field, without what was left empty. */
export const typed = (form) => Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));

/** A place in which it is said what went wrong, or that it went well; screen readers say it too. */
export const said = () => h("p", { class: "aside", role: "status" });

/** Do what was asked; a refusal is said in its place. Gives whether it was done. */
export async function done(place, work) {
  try {
    await work();
    place.textContent = "";
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    place.textContent = error.message;
    return false;
  }
}

/** What a form or a button does: once at a time, however often it is pressed. What is disabled would lose the focus of who works with the keyboard. */
export function once(work) {
  return async (event) => {
    event.preventDefault();
    const button = event.submitter ?? event.currentTarget;
    if (button.ariaDisabled === "true") return;
    button.ariaDisabled = "true";
    try {
      await work(event.target);
    } finally {
      button.ariaDisabled = null;
    }
  };
}

/** A button that asks the service to change something, then draws anew what it changed; `key` tells it from others of its name. */
export function act(label, about, place, work, key) {
  const press = once(() => done(place, work));
  return h("button", { type: "button", class: "press small", "aria-label": `${label} ${about}`, "data-key": key, onclick: press }, label);
}

/** Under a filter that is refused: the text, and a caret below the column that is wrong. */
export function pointed(error, filter) {
  const column = error.problem.column;
  const caret = column ? `${filter}\n${" ".repeat(column - 1)}^` : filter;
  return h("div", { class: "note", role: "alert" }, h("div", null, error.message), h("pre", { class: "caret" }, caret));
}

/** Whether a refusal is about the time that was asked for. */
export const ofTime = (error) => error instanceof ApiError && ["from", "to"].includes(error.problem.field);

/** Whether a refusal is about the ends that are looked for. */
export const ofEnds = (error) => error instanceof ApiError && error.problem.field === "q";

/** Whether a refusal is about the filter. */
export const ofFilter = (error) => error instanceof ApiError && error.problem.field === "filter";
