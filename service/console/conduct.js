// What the ends of a replayed flow did beside what their congestion control asks: findings, and what is not decided.

import { chip, head, right } from "./cell.js";
import { h, panel } from "./dom.js";
import { kind } from "./units.js";

const SENDER = { breaks: "the sender breaks the rules", conforms: "the sender does as it should", unasked: "the sender was asked for no reaction", undecided: "the sender cannot be decided" };
const MOST_FRAMES = 5;

/** A panel that `go` makes step to the decisions at the frames of a finding. */
export function conduct(told, decisions, go) {
  const { findings, undecided } = told;
  if (!findings.length && !undecided.length && !told.sender) return null;
  const places = new Map(decisions.map((one, at) => [one.frame, at]));
  return panel("Conduct", SENDER[told.sender] || null, [h("a", { href: "/docs/how-to/conform" }, "How this is judged")],
    findings.length > 0 && h("div", { class: "scroll" }, h("table", { class: "list" },
      head(["Finding", "Sure#", "By chance#", "Rests on#", "Frames"]),
      h("tbody", null, findings.map((one) => h("tr", null,
        h("td", null, chip(true, `${one.about}: ${kind(one.finding)}`), h("div", { class: "where" }, `${one.meaning} (${one.document})`)),
        right(one.sure_text), right(one.odds_text), right(`${one.count} of ${one.cases} ${one.unit}`),
        h("td", null, one.frames.slice(0, MOST_FRAMES).map((each) => frame(each, places, go)))))))),
    undecided.length > 0 && h("ul", { class: "body" }, undecided.map((each) => h("li", null, `Not decided at ${each.point}${each.frame === null ? "" : ` from frame ${each.frame} on`}: ${each.why}`))));
}

/** A frame, and the one that asked for it; what led to a decision is stepped to. */
function frame(each, places, go) {
  const named = (number) => (places.has(number) ? h("button", { type: "button", title: "Step to this decision", onclick: () => go(places.get(number)) }, number) : number);
  return h("div", { class: "num" }, named(each.frame), each.cause_frame !== null && [" after ", named(each.cause_frame)]);
}
