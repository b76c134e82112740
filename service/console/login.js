// The door: who is not known brings a token once; the answer sets a cookie that no script can read.

import { h } from "./dom.js";

const AWAY = "The service does not answer.";

const session = () => fetch("/api/v1/session").then((answer) => answer.json()).catch(() => ({}));

/** Whether whoever asks sees the flows of all tenants. */
export const seesAll = async () => (await session()).identity?.fabric !== false;

/** Who is logged in, with a button that ends it; empty where nobody has to be. What tells of all tenants is for those who may ask it. */
export async function who(place, left) {
  const told = await session();
  for (const link of document.querySelectorAll("[data-fabric]")) link.hidden = Boolean(told.identity) && !told.identity.fabric;
  if (!told.login_required || !told.identity) { place.replaceChildren(); return; }
  const leave = async (event) => {
    const button = event.currentTarget;
    const gone = await fetch("/api/v1/session", { method: "DELETE" }).catch(() => null);
    if (!gone) { button.textContent = `Log out: ${AWAY}`; return; }
    place.replaceChildren();
    left();
  };
  place.replaceChildren(told.identity.name, " ", h("button", { type: "button", class: "press small", onclick: leave }, "Log out"));
}

/** A form for a token; `entered` is called when it was taken. */
export function login(entered) {
  const said = h("p", { class: "aside", role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    const token = new FormData(event.target).get("token").trim();
    const answer = await fetch("/api/v1/session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) }).catch(() => null);
    if (!answer) { said.textContent = AWAY; return; }
    if (answer.ok) { entered(); return; }
    said.textContent = (await answer.json().catch(() => ({}))).detail || "The token was not taken.";
  };
  return h("div", null, h("h1", null, "Log in"), h("p", { class: "lead" }, "This service asks who you are. A token is made by ", h("code", null, "hopsight token"), " on its machine, or comes from your identity provider."),
    h("form", { class: "times", "aria-label": "Log in", onsubmit: submit }, h("label", null, "Token ", h("input", { name: "token", type: "password", required: true, autocomplete: "current-password" })), h("button", { type: "submit", class: "press" }, "Log in")), said);
}
