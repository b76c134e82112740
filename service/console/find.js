// Flows by what people paste: ends, 5-tuples, lines of ss, tcpdump and conntrack, names of hosts.

import { address, get } from "./api.js";
import { count, flowCell, head, right } from "./cell.js";
import { csvButton, empty, h, panel } from "./dom.js";
import { moment } from "./units.js";

const EXAMPLES = [
  "10.0.1.2",
  "10.0.1.2:40001 10.0.2.3:5001",
  "tcp 10.0.1.2 40001 10.0.2.3 5001",
  "ESTAB 0 0 10.0.1.2:40001 10.0.2.3:5001          # ss -tn",
  "IP 10.0.1.2.40001 > 10.0.2.3.5001: Flags [.]    # tcpdump -n",
  "leaf1-h2                                        # a host of the topology",
];

export async function find(parameters) {
  const q = parameters.get("q") || "";
  const found = await get("/flows", { q });
  const rows = found.flows;
  return {
    title: `find ${q}`,
    body: h("div", null,
      h("h1", null, q ? `Flows that match “${q}”` : "All flows"),
      h("p", { class: "lead" }, `${count(rows.length, "flow")}, newest first${found.more ? "; more were seen, add an end or a port" : ""}.`),
      panel("Flows", null, [csvButton("flows", () => rows), h("a", { href: address("/flows", { q }) }, "API")],
        rows.length ? h("div", { class: "scroll" }, table(rows))
          : empty("No flow matches", "No flow with these ends was seen. What can be searched for:", EXAMPLES))),
  };
}

function table(rows) {
  return h("table", { class: "list" },
    head(["Flow", "First seen (UTC)#", "Last seen (UTC)#", "Congestion control"]),
    h("tbody", null, rows.map((row) => h("tr", null,
      flowCell(row), right(moment(row.first_ns, 1e9)), right(moment(row.last_ns, 1e9)), h("td", null, row.cc || "–")))));
}
