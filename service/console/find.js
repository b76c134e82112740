// Flows by what people paste: ends, 5-tuples, lines of ss, tcpdump, iperf3 and conntrack, names of hosts.

import { get } from "./api.js";
import { count, flowCell, head, right } from "./cell.js";
import { apiLink, csvButton, empty, h, panel } from "./dom.js";
import { field, ofEnds, ofFilter, pointed, typed } from "./form.js";
import { moment } from "./units.js";
import { fabricUrl, filterUrl, findUrl, linkUrl } from "./views.js";

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
    if (!ofFilter(error) && !ofEnds(error)) throw error;
    wrong = error;
    return { flows: [], more: false };
  });
  const rows = [...found.flows].sort((a, b) => turned(a, q) - turned(b, q));
  return {
    title: `find ${q || filter}`,
    again: !wrong && !rows.length,
    body: h("div", null,
      h("h1", null, q || filter ? `Flows that match “${q || filter}”` : "All flows"),
      h("p", { class: "lead" }, wrong ? (ofFilter(wrong) ? "The filter is not understood." : "These are no ends of flows.") : `${count(rows.length, "flow")}, ${q ? "as typed first, then the other direction, " : ""}newest first${found.more ? "; more were seen, add an end or a port" : ""}.`),
      form(q, filter), wrong && (ofFilter(wrong) ? pointed(wrong, filter) : meant(wrong, q)),
      !wrong && panel("Flows", null, [csvButton("flows", () => rows), apiLink("/flows", { q, filter })],
        rows.length ? h("div", { class: "scroll" }, table(rows))
          : empty("No flow matches", filter ? "Other flows may have been seen: leave the filter out, or one of its parts. What can be searched for:" : "No flow with these ends was seen. What can be searched for:", EXAMPLES))),
  };
}

/** Whether a flow's ends were typed the other way round; sorting by it keeps the order of the rest. */
function turned(flow, q) {
  const [src, dst] = [q.indexOf(flow.src), q.indexOf(flow.dst)];
  return src > dst && dst >= 0;
}

/** What else than ends a text may name: a prefix, a port of a switch, a switch. */
function meant(error, q) {
  const [prefix] = q.match(/^[0-9a-f:.]+\/\d+$/i) || [];
  const [, device, port] = q.match(/^([a-z_][\w.-]*)(?:[\s:]+([a-z_][\w./-]*))?$/i) || [];
  const ways = prefix ? [h("a", { href: filterUrl(`host in ${prefix}`) }, `flows of ${prefix}`)]
    : device && port ? [h("a", { href: linkUrl({ device, interface: port }) }, `the link ${device} ${port}`)]
    : device ? [h("a", { href: fabricUrl({ device }) }, `${device} in the fabric`), " · ", h("a", { href: filterUrl(`device = "${device}"`) }, `flows that are fullest at ${device}`)] : [];
  return h("div", { class: "note", role: "alert" }, h("div", null, error.message), ways.length > 0 && h("div", null, "Or was this meant: ", ways, "?"));
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
