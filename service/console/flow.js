// One flow: the verdict in a sentence, its path, how it changed, its signals, and the evidence.

import { get } from "./api.js";
import { stack } from "./chart.js";
import { apiLink, csvButton, empty, h, panel } from "./dom.js";
import { evidence, sharing } from "./evidence.js";
import { path } from "./path.js";
import { signalLines, signalRows } from "./signal.js";
import { end, PROTOCOL } from "./units.js";
import { history, verdict } from "./verdict.js";
import { between, rangeOf, replayUrl } from "./views.js";

const FIELDS = ["src", "dst", "proto", "at", "window", "tenant", "vrf", "vni"];

/** What the address says of the flow, and of its time in this page's own words. */
const given = (parameters) => Object.fromEntries(FIELDS.filter((name) => parameters.get(name)).map((name) => [name, parameters.get(name)]));

export async function flow(parameters) {
  const asked = { ...between(parameters), ...given(parameters) };
  const asking = get("/flows/signals", asked);
  asking.catch(() => {}); // what the first says of a flow without a verdict says more
  const whole = { ...asked, frames: "true" };
  const answer = await get("/flows/bottleneck", whole);
  const signals = await asking;
  const range = rangeOf(answer.interval);
  const place = answer.verdict.hop;
  const beside = place && { device: place.device, interface: place.interface, ...range };
  const users = beside && await get("/links/flows", beside);
  const chart = h("div", { class: "chart", role: "img", "aria-label": "Signals of the flow over time; the same numbers are behind CSV" });
  const name = `${end(answer.flow.src, answer.flow.sport)} → ${end(answer.flow.dst, answer.flow.dport)}`;
  const { src, dst } = asked;
  const { protocol: proto, tenant, vrf, vni } = answer.flow;
  return {
    title: name,
    about: { interval: answer.interval, captured: answer.verdict.parts.captured, completeness: answer.verdict.completeness },
    body: h("div", null,
      h("p", { class: "crumb" }, h("a", { href: "#/" }, "Overview"), " / flow"),
      h("h1", { class: "mono" }, name, " ", h("span", { class: "where" }, PROTOCOL[answer.flow.protocol] || answer.flow.protocol)),
      verdict(answer, asked),
      path(answer, signals, range, asked),
      history(answer, asked),
      panel("Signals", "one time axis; drag to zoom, double-click for all",
        [h("a", { href: replayUrl({ src, dst, proto, tenant, vrf, vni: vni || undefined, ...range }) }, "Replay each ACK"), csvButton("signals", () => signalRows(signals)), apiLink("/flows/signals", asked)], chart),
      evidence(answer, whole),
      sharing(answer, users, beside)),
    drawn: async () => {
      const any = await stack(chart, signals.interval, signalLines(signals));
      if (!any) chart.replaceChildren(empty("No signals in this time", "Neither telemetry nor acknowledgements were seen for this flow here. A longer window may hold some:", [`hopsight where ${src} ${dst} --window 1h`]));
    },
  };
}
