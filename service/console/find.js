// Flows by what people paste: ends, 5-tuples, lines of ss, tcpdump and conntrack, names of hosts.

import { address, get } from "./api.js";
import { count, flowCell, head, right } from "./cell.js";
import { csvButton, empty, h, panel } from "./dom.js";
import { field, ofFilter, pointed, typed } from "./form.js";
import { moment } from "./units.js";
import { findUrl } from "./views.js";

const EXAMPLES = [
  "10.0.1.2",
  "10.0.1.2:40001 10.0.2.3:5001",
  "tcp 10.0.1.2 40001 10.0.2.3 5001",
  "ESTAB 0 0 10.0.1.2:40001 10.0.2.3:5001          # ss -tn",
  "IP 10.0.1.2.40001 > 10.0.2.3.5001: Flags [.]    # tcpdump -n",
  "leaf1-h2                                        # a host of the topology",
  "device = leaf1 and u.p99 > 0.95                 # a filter",
];

export async function find(parameters) {
  const q = parameters.get("q") || "";
  const filter = parameters.get("filter") || "";
  let wrong = null;
  const found = await get("/flows", { q, filter }).catch((error) => {
    if (!ofFilter(error)) throw error;
    wrong = error;
    return { flows: [], more: false };
  });
  const rows = found.flows;
  return {
    title: `find ${q || filter}`,
    again: !wrong && !rows.length,
    body: h("div", null,
      h("h1", null, q || filter ? `Flows that match “${q || filter}”` : "All flows"),
      h("p", { class: "lead" }, wrong ? "The filter is not understood." : `${count(rows.length, "flow")}, newest first${found.more ? "; more were seen, add an end or a port" : ""}.`),
      form(q, filter), wrong && pointed(wrong, filter),
      !wrong && panel("Flows", null, [csvButton("flows", () => rows), h("a", { href: address("/flows", { q, filter }) }, "API")],
        rows.length ? h("div", { class: "scroll" }, table(rows))
          : empty("No flow matches", filter ? "Other flows may have been seen: leave the filter out, or one of its parts. What can be searched for:" : "No flow with these ends was seen. What can be searched for:", EXAMPLES))),
  };
}

/** The ends and the filter, as a form. */
function form(q, filter) {
  const submit = (event) => {
    event.preventDefault();
    const told = typed(event.target);
    location.hash = findUrl(told.q, told.filter);
  };
  return h("form", { class: "times", "aria-label": "Which flows", onsubmit: submit }, field("q", "Ends", { value: q, placeholder: "10.0.1.2:40001 10.0.2.3:5001" }),
    field("filter", "Filter", { value: filter, class: "long", placeholder: 'stage = "tor" and u.p99 > 0.95', maxlength: 1000 }), h("button", { type: "submit", class: "press" }, "Find"),
    h("a", { href: "/docs/reference/filters" }, "What a filter may say"));
}

function table(rows) {
  return h("table", { class: "list" },
    head(["Flow", "First seen (UTC)#", "Last seen (UTC)#", "Congestion control"]),
    h("tbody", null, rows.map((row) => h("tr", null,
      flowCell(row), right(moment(row.first_ns, 1e9)), right(moment(row.last_ns, 1e9)), h("td", null, row.cc || "–")))));
}
