// Alerts: what stands, what is kept quiet and until when, by which rules, and how states changed.

import { get, send } from "./api.js";
import { chip, count, head, right } from "./cell.js";
import { apiLink, csvButton, empty, h, panel } from "./dom.js";
import { act, choice, done, field, once, said, typed } from "./form.js";
import { moment, span } from "./units.js";

const HISTORY = 100;
const OWN = ["alertname", "severity"];

export async function alerts() {
  const [now, rules, silences, history] = await Promise.all([get("/alerts"), get("/alerts/rules"), get("/alerts/silences"), get("/alerts/history", { limit: HISTORY })]);
  const told = said();
  // Who has left the page meanwhile has another one drawn.
  const again = () => { if (told.isConnected) dispatchEvent(new Event("hopsight:again")); };
  const form = silenceForm(told, again);
  const firing = now.alerts.filter((each) => each.state === "firing");
  const loud = firing.filter((each) => !each.silenced_by.length);
  return {
    title: "alerts",
    live: true,
    body: h("div", null,
      h("h1", null, loud.length ? `${count(loud.length, "alert")} firing` : "No alert is firing"),
      h("p", { class: "lead" }, `${firing.length - loud.length} kept quiet, ${now.alerts.length - firing.length} pending${now.now_ns ? `; looked at ${moment(now.now_ns, 1e9)} UTC, in the time of the data` : ""}. `, h("a", { href: "/docs/how-to/alerts" }, "How rules are written")),
      panel("Now", null, [csvButton("alerts", () => now.alerts.map(flat)), api("")], standing(now.alerts, rules, form, now.now_ns)),
      panel("Quiet", "silences and maintenance windows that are not over, by the clock", [csvButton("silences", () => silences.silences.map(flatSilence)), api("/silences")],
        quiet(silences.silences, told, again), form, told),
      panel("Rules", rules.receivers.length ? `told to ${rules.receivers.map((each) => `${each.name} (${each.kind}${each.waiting ? `, ${count(each.waiting, "alert")} wait for it` : ""})`).join(", ")}` : "told to nobody", [csvButton("rules", () => rules.rules.map(flatRule)), api("/rules")], rulesTable(rules.rules)),
      panel("History", `the latest ${HISTORY} changes`, [csvButton("history", () => history.changes.map(labelled)), api("/history", { limit: HISTORY })], past(history.changes))),
  };
}

const api = (path, parameters) => apiLink(`/alerts${path}`, parameters);
const words = (labels) => Object.entries(labels).filter(([name]) => !OWN.includes(name)).map(([name, value]) => `${name}=${value}`).join(" ") || "everything";
const labelled = ({ labels, ...row }) => ({ ...row, ...labels });
const flat = (row) => ({ ...labelled(row), silenced_by: row.silenced_by.join(" ") });
const flatRule = (rule) => ({ ...rule, group_by: rule.group_by.join(" ") });
const flatSilence = ({ matchers, ...row }) => ({ ...row, matchers: JSON.stringify(matchers) });
const value = (number) => (number === null || number === undefined ? "–" : Number(number.toPrecision(4)));

function standing(rows, rules, form, now) {
  if (!rows.length && !rules.rules.length) return empty("There are no rules", "A file of rules says what is worth an alert and who is told. It is named by a setting:", ["hopsight alerts check alerts.toml", "HOPSIGHT_SERVICE__ALERTS_FILE=alerts.toml hopsight serve"]);
  if (!rows.length && !now) return empty("No rule was looked at yet", "Rules are looked at when something is stored, and nothing is yet.", ["hopsight doctor"]);
  if (!rows.length) return empty("Nothing is wrong by these rules", `${count(rules.rules.length, "rule")} looked at, and none is broken. Rules are looked at when something is stored.`, ["hopsight alerts"]);
  const silence = (each) => () => {
    const matchers = form.querySelector("[name=matchers]");
    matchers.value = Object.entries({ alertname: each.rule, ...each.labels }).filter(([name]) => name !== "severity").map(([name, text]) => `${name}=${written(text)}`).join(" ");
    matchers.dispatchEvent(new Event("input", { bubbles: true }));
    form.scrollIntoView({ block: "center" });
    form.querySelector("[name=for]").focus();
  };
  return h("div", { class: "scroll" }, h("table", { class: "list" }, head(["Alert", "About", "State", "Since (UTC)#", "Value#", "Do"]),
    h("tbody", null, rows.map((each) => h("tr", null,
      h("td", null, each.rule, h("div", { class: "where told" }, each.summary, each.runbook && [" ", h("a", { href: each.runbook, rel: "noreferrer" }, "runbook")])),
      h("td", { class: "flow" }, words(each.labels)),
      h("td", null, chip(each.state === "firing" && !each.silenced_by.length, [each.labels.severity, each.state, each.flapping && "flapping", each.silenced_by.length && "silenced"].filter(Boolean).join(", "))),
      right(moment(each.since_ns, 1e9)), right(value(each.value)),
      h("td", null, h("button", { type: "button", class: "press small", "aria-label": `Silence ${each.rule} ${words(each.labels)}`, onclick: silence(each) }, "Silence")))))));
}

function quiet(rows, told, again) {
  if (!rows.length) return h("p", { class: "body quiet" }, "Nothing is kept quiet.");
  const now = Date.now() * 1e6;
  return h("div", { class: "scroll" }, h("table", { class: "list" }, head(["Alerts with", "Kind", "From (UTC)#", "Until (UTC)#", "By", "Why", "Do"]),
    h("tbody", null, rows.map((each) => h("tr", null,
      h("td", { class: "flow" }, Object.entries(each.matchers).map((pair) => pair.join("=")).join(" ")),
      h("td", null, each.kind, each.from_ns > now && h("div", { class: "where" }, "to come")), right(moment(each.from_ns, 60e9)), right(moment(each.to_ns, 60e9)),
      h("td", null, each.author || "–"), h("td", null, each.comment || "–"),
      h("td", null, act("End", `${each.kind} of ${words(each.matchers)}`, told, async () => { await send("DELETE", `/alerts/silences/${each.id}`); again(); }, each.id)))))));
}

/** name=value pairs; a value with blanks stands in quotation marks. What is no pair is given back as `strange`. */
function labelsOf(text) {
  const pair = /([\w.]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",~][^\s",]*))(?=[\s,]|$)[\s,]*/y;
  const labels = {};
  for (pair.lastIndex = text.search(/\S|$/); pair.lastIndex < text.length;) {
    const at = pair.lastIndex;
    const found = pair.exec(text);
    if (!found) return { strange: text.slice(at) };
    const [, name, quoted, plain] = found;
    if (name in labels) return { strange: found[0].trim() };
    labels[name] = quoted === undefined ? plain : quoted.replaceAll(/\\(.)/g, "$1");
  }
  return { labels };
}

/** A value as `labelsOf` reads it. */
const written = (text) => (/^[^\s",~\\][^\s",\\]*$/.test(text) ? text : `"${text.replaceAll(/["\\]/g, "\\$&")}"`);

function silenceForm(told, again) {
  const submit = once(async (form) => {
    const { matchers, ...rest } = typed(form);
    const { labels = {}, strange } = labelsOf(matchers || "");
    if (strange || !Object.keys(labels).length) {
      told.textContent = `${strange ? `“${strange}” is not understood, or said twice; nothing is kept quiet. ` : ""}Write name=value, such as device=leaf1 interface=Ethernet*; * is any text, and a value with blanks stands in "".`;
      return;
    }
    if (!await done(told, () => send("POST", "/alerts/silences", { matchers: labels, ...rest }))) return;
    form.reset();
    again();
  });
  return h("form", { class: "times body", "aria-label": "Keep alerts quiet", onsubmit: submit },
    field("matchers", "Alerts with", { required: true, placeholder: "device=leaf1 interface=Ethernet*" }),
    choice("kind", "as", [["silence", "silence"], ["maintenance", "maintenance window"]]),
    field("from", "from", { placeholder: "now, or 2026-01-31T12:00:00Z" }), field("for", "for", { required: true, placeholder: "2h", class: "short" }),
    field("comment", "because", { placeholder: "line card is changed" }), h("button", { type: "submit", class: "press" }, "Keep quiet"));
}

const condition = (rule) => `${rule.value} of ${rule.over} ${rule.above === null ? `below ${rule.below}` : `above ${rule.above}`}${rule.filter ? `, where ${rule.filter}` : ""}`;

function rulesTable(rows) {
  if (!rows.length) return h("p", { class: "body quiet" }, "There are no rules.");
  return h("div", { class: "scroll" }, h("table", { class: "list" }, head(["Rule", "Fires when", "For#", "An alert for each", "Severity"]),
    h("tbody", null, rows.map((rule) => h("tr", null, h("td", null, rule.name, h("div", { class: "where" }, rule.summary)), h("td", { class: "flow" }, condition(rule)),
      right(rule.for_ns ? span(rule.for_ns) : "at once"), h("td", null, rule.group_by.join(", ") || "–"), h("td", null, rule.severity))))));
}

function past(rows) {
  if (!rows.length) return h("p", { class: "body quiet" }, "No alert changed its state yet.");
  return h("div", { class: "scroll" }, h("table", { class: "list" }, head(["When (UTC)#", "Rule", "About", "Became", "Value#"]),
    h("tbody", null, rows.map((row) => h("tr", null, right(moment(row.time_ns, 1e9)), h("td", null, row.rule), h("td", { class: "flow" }, words(row.labels)),
      h("td", null, chip(row.state === "firing", row.state)), right(value(row.value)))))));
}
