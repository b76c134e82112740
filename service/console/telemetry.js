// Health of the telemetry: what is missing, who breaks its rules, whose clock is off, each with its evidence.

import { get, written } from "./api.js";
import { chip, count } from "./cell.js";
import { apiLink, csvButton, empty, h, panel } from "./dom.js";
import { kind, moment, percent } from "./units.js";
import { telemetryUrl } from "./views.js";

const CLASSES = { device: "Devices that break the rules", coverage: "Where telemetry is, and where not", deployment: "How congestion control is deployed", clock: "Clocks" };

export async function telemetry(parameters) {
  const asked = Object.fromEntries(["from", "to", "class", "verdict"].map((name) => [name, parameters.get(name)]));
  const found = await get("/health/telemetry", asked);
  const rows = found.findings;
  const worth = rows.filter((row) => row.worth_a_look);
  return {
    title: "telemetry",
    about: found,
    live: true,
    body: h("div", null,
      h("h1", null, headline(found, worth, asked)),
      found.interval && h("p", { class: "lead" }, lead(found, worth)),
      form(asked),
      Object.entries(CLASSES).map(([name, title]) => group(title, rows.filter((row) => row.class === name), asked)),
      !rows.length && h("div", { class: "panel" }, empty("No finding in this time", "Findings are made while frames are analysed; a longer time or fewer conditions may have some.", ["hopsight doctor", "hopsight health --all"]))),
  };
}

function lead(found, worth) {
  const { length } = found.findings;
  const told = `${count(length, "finding")}${found.more ? " and more" : ""}`;
  return length ? `${told}; ${length - worth.length} are as they should be. What a verdict rests on cannot be better than this.` : `${told} in this time, of which ${percent(found.covered)} was judged.`;
}

/** Findings that are as they should be are findings, too; a time without any may have been judged all the same. */
function headline(found, worth, asked) {
  if (worth.length) return `${count(worth.length, "finding")} worth a look`;
  if (!found.interval) return "No telemetry was judged yet";
  if (asked.class || asked.verdict) return "No such finding is worth a look";
  return found.findings.length || found.covered > 0 ? "Nothing is wrong with the telemetry, as far as was seen" : "No telemetry was judged in this time";
}

function form(asked) {
  const change = (event) => { location.hash = telemetryUrl({ ...asked, ...Object.fromEntries(new FormData(event.currentTarget)) }); };
  const choice = (name, label, options) => h("label", null, label, " ", h("select", { name }, options.map(([value, text]) => h("option", { value, selected: value === (asked[name] || "") }, text))));
  return h("form", { class: "times", "aria-label": "Which findings", onchange: change, onsubmit: (event) => event.preventDefault() },
    choice("class", "About", [["", "everything"], ...Object.keys(CLASSES).map((name) => [name, name])]),
    choice("verdict", "verdict", [["", "any"], ["yes", "sure"], ["cannot_tell", "cannot tell"]]));
}

const flat = (row) => ({ ...row, subject: row.subject.name, subject_kind: row.subject.kind, evidence: written(row.evidence) });

/** Findings of one class: the same finding about many subjects is told once, with its subjects. */
function group(title, rows, asked) {
  if (!rows.length) return null;
  const names = [...new Set(rows.map((row) => `${row.finding} ${row.verdict}`))];
  const alike = names.map((name) => rows.filter((row) => `${row.finding} ${row.verdict}` === name));
  return panel(title, count(rows.length, "finding"), [csvButton("telemetry", () => rows.map(flat)), apiLink("/health/telemetry", asked)],
    h("div", { class: "findings" }, alike.map((each) => finding(each))));
}

function finding(rows) {
  const [one] = rows;
  return h("article", { class: "finding" },
    h("h3", null, kind(one.finding), " ", chip(one.worth_a_look, one.verdict === "yes" ? "sure" : "cannot tell")),
    h("p", null, one.meaning),
    h("p", { class: "aside" }, `Rule: ${one.rule}. ${one.verdict === "yes" ? "" : `What would tell: ${one.tells}.`}`),
    h("details", { open: rows.length <= 4 }, h("summary", null, count(rows.length, one.subject.kind)),
      h("ul", { class: "subjects" }, rows.map((row) => h("li", null, h("span", { class: "mono" }, row.subject.name), h("span", { class: "where" }, evidence(row)))))));
}

/** The evidence in words: how often, since when, and the first frame to open. */
function evidence(row) {
  const first = row.evidence.first;
  const rest = Object.entries(row.evidence).filter(([, value]) => ["number", "string"].includes(typeof value)).map(([name, value]) => `${kind(name)} ${value}`);
  return [` ${row.count} times, since ${moment(row.from_ns, 1)}`, first ? `; first in ${first.source}, frame ${first.frame}` : "", rest.length ? `; ${rest.join(", ")}` : ""].join("");
}
