// Flows by what people paste: an address, an address and port, or both ends.

import { address, get } from "./api.js";
import { csvButton, empty, h, panel } from "./dom.js";
import { end, moment, PROTOCOL } from "./units.js";
import { flowUrl } from "./views.js";

export async function find(parameters) {
  const q = parameters.get("q") || "";
  const found = await get("/flows", { q });
  const rows = found.flows;
  return {
    title: `find ${q}`,
    body: h("div", null,
      h("h1", null, q ? `Flows that match “${q}”` : "All flows"),
      h("p", { class: "lead" }, `${rows.length} ${rows.length === 1 ? "flow" : "flows"}, newest first${found.more ? "; more were seen, add an end or a port" : ""}.`),
      panel("Flows", null, [csvButton("flows", () => rows), h("a", { href: address("/flows", { q }) }, "API")],
        rows.length ? h("div", { class: "scroll" }, table(rows))
          : empty("No flow matches", "An address, ADDRESS:PORT, or two ends such as 10.0.1.2:40001 10.0.2.3:5001 can be searched."))),
  };
}

function table(rows) {
  return h("table", { class: "list" },
    h("thead", null, h("tr", null, ["Flow", "Protocol", "First seen", "Last seen", "Congestion control"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, rows.map((row) => h("tr", null,
      h("td", { class: "flow" }, h("a", { href: flowUrl(row) }, end(row.src, row.sport), h("span", { class: "arrow" }, "→"), end(row.dst, row.dport))),
      h("td", null, PROTOCOL[row.protocol] || row.protocol),
      h("td", { class: "num" }, moment(row.first_ns, 1e9)),
      h("td", { class: "num" }, moment(row.last_ns, 1e9)),
      h("td", null, row.cc || "–")))));
}
