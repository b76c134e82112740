// Captures that are brought, and the jobs that analyse, replay and judge them, with how far each is.

import { address, bring, get, send, sending, written } from "./api.js";
import { chip, count, head, right } from "./cell.js";
import { apiLink, csvButton, empty, h, panel } from "./dom.js";
import { act, choice, done, field, once, said, typed } from "./form.js";
import { keeping } from "./kept.js";
import { bytes, moment, percent } from "./units.js";
import { findUrl, overviewUrl, rangeOf } from "./views.js";

const EVERY_MS = 1000;
const ENDED = ["done", "failed", "cancelled"];
const ALGORITHMS = [["", "what the packets show"], ["hpcc", "hpcc"], ["dctcp", "dctcp"], ["swift", "swift"], ["poseidon", "poseidon"]];
const PLAIN = /[^A-Za-z0-9_.@+-]/g;

export async function captures() {
  const kept = h("div", null);
  const jobs = h("div", null);
  const told = said();
  let [shown, turn] = [null, 0];
  const show = async () => {
    const own = ++turn;
    const [held, asked] = await Promise.all([get("/captures"), get("/jobs")]);
    if (own !== turn) return;
    const files = JSON.stringify(held);
    if (files !== shown) keeping(kept, () => kept.replaceChildren(capturesPanel(held, told, show)));
    shown = files;
    keeping(jobs, () => jobs.replaceChildren(jobsPanel(asked, held, told, show)));
  };
  let away = false;
  const follow = async () => {
    if (!jobs.isConnected) return;
    const still = jobs.querySelector("progress");
    if (still && !document.hidden && !sending()) {
      // What was said of something else stays.
      const lately = said();
      const was = away;
      away = !await done(lately, show);
      if (away || was) told.textContent = lately.textContent;
    }
    setTimeout(follow, EVERY_MS);
  };
  await show();
  return {
    title: "captures",
    body: h("div", null, h("h1", null, "Captures"),
      h("p", { class: "lead" }, "Bring a capture file, have it analysed where the service runs, and look at what was found. ", h("a", { href: "/docs/how-to/captures" }, "How this works")),
      upload(told, show), told, jobs, kept),
    drawn: follow,
  };
}

/** The form that brings a file, with a bar while it goes. */
function upload(told, show) {
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Share of the file that has gone", hidden: true });
  const submit = once(async (form) => {
    const file = form.querySelector("input[type=file]").files[0];
    if (!file) return;
    bar.hidden = false;
    const name = file.name.replace(PLAIN, "_").slice(-100).replace(/^[^A-Za-z0-9_]+/, "") || "capture.pcap";
    const taken = await done(told, async () => {
      const made = await bring("/captures", { name }, file, (share) => { bar.value = share; });
      if (form.querySelector("input[type=checkbox]").checked) await send("POST", "/jobs", { kind: "analyze", capture: made.id });
    });
    bar.hidden = true;
    if (taken) { form.reset(); told.textContent = `${name} was brought.`; }
    await show().catch((error) => { told.textContent = error.message; });
  });
  return h("form", { class: "times", "aria-label": "Bring a capture", onsubmit: submit },
    h("label", null, "Capture ", h("input", { type: "file", name: "file", required: true, accept: ".pcap,.pcapng,.cap,.gz,.zst,.lz4" })),
    h("label", null, h("input", { type: "checkbox", name: "analyze", checked: true }), " analyse it at once"),
    h("button", { type: "submit", class: "press" }, "Bring"), bar);
}

function capturesPanel(held, told, show) {
  const rows = held.captures;
  const tools = [csvButton("captures", () => rows), apiLink("/captures")];
  const note = `${bytes(held.bytes)} of ${bytes(held.most_bytes)}; one may have ${bytes(held.most_bytes_each)}`;
  if (!rows.length) return panel("Files", note, tools, empty("No capture was brought", "The form above takes pcap and pcapng, plain or compressed. From a shell:", ["curl --data-binary @FILE 'http://HOST/api/v1/captures?name=FILE'"]));
  const job = (wanted) => async () => { await send("POST", "/jobs", wanted); await show(); };
  return panel("Files", note, tools, h("div", { class: "scroll" }, h("table", { class: "list" },
    head(["File", "Size#", "Brought (UTC)#", "By", "Do"]),
    h("tbody", null, rows.map((row) => h("tr", null,
      h("td", { class: "flow" }, row.name), right(bytes(row.bytes)), right(moment(row.created_ns, 60e9)), h("td", null, row.who),
      h("td", null, act("Analyse", row.name, told, job({ kind: "analyze", capture: row.id }), row.id), " ",
        act("Replay", row.name, told, job({ kind: "replay", capture: row.id }), row.id), " ",
        act("Judge", row.name, told, job({ kind: "conform", capture: row.id }), row.id), " ",
        act("Rebuild", row.name, told, job({ kind: "closed_loop", capture: row.id }), row.id), " ",
        act("Delete", row.name, told, async () => { await send("DELETE", `/captures/${row.id}`); await show(); }, row.id))))))),
    replayForm(rows, told, show));
}

/** A replay with an algorithm, a flow or other parameters. */
function replayForm(rows, told, show) {
  const submit = once(async (form) => {
    const { set, flow, ...rest } = typed(form);
    const [src, dst] = (flow || "").split(/\s+/);
    const wanted = { kind: "replay", ...rest, set: set ? set.split(/\s+/) : [], ...(flow ? { src, dst } : {}) };
    if (!await done(told, () => send("POST", "/jobs", wanted))) return;
    form.reset();
    await show();
  });
  return h("form", { class: "times body", "aria-label": "Replay a capture", onsubmit: submit },
    choice("capture", "Replay", rows.map((row) => [row.id, row.name])), choice("algorithm", "by", ALGORITHMS),
    field("flow", "flow", { placeholder: "10.0.1.2:40001 10.0.2.3:5001" }), field("set", "with", { placeholder: "eta=0.9 maxStage=4" }),
    h("button", { type: "submit", class: "press" }, "Ask"));
}

function jobsPanel(asked, held, told, show) {
  const rows = asked.jobs;
  const names = Object.fromEntries(held.captures.map((row) => [row.id, row.name]));
  const tools = [csvButton("jobs", () => rows.map((row) => ({ ...row, asked: written(row.asked), found: written(row.found), results: row.results.join(" ") }))), apiLink("/jobs")];
  if (!rows.length) return panel("Jobs", null, tools, empty("No job was asked for", "Bring a capture, or press Analyse beside one.", null));
  const change = (method, path) => async () => { await send(method, path); await show(); };
  return panel("Jobs", `${count(rows.length, "job")}${asked.more ? " and more" : ""}, the latest first`, tools, h("div", { class: "scroll" }, h("table", { class: "list" },
    head(["Job", "State", "Asked for (UTC)#", "What came of it", "Do"]),
    h("tbody", null, rows.map((row) => {
      const about = `${row.kind.replace("_", " ")} ${names[row.asked.capture] || row.asked.src || "a capture that is gone"}`;
      return h("tr", null, h("td", null, about, h("div", { class: "where" }, [row.asked.algorithm, ...(row.asked.set || []), ...(row.asked.what_if || []), ...(row.asked.sweep || [])].filter(Boolean).join(" "))),
        h("td", null, state(row)), right(moment(row.created_ns, 60e9)), h("td", { class: "told" }, outcome(row)),
        h("td", null, ENDED.includes(row.state) ? act("Delete", about, told, change("DELETE", `/jobs/${row.id}`), row.id) : act("Cancel", about, told, change("POST", `/jobs/${row.id}/cancel`), row.id)));
    })))));
}

function state(row) {
  if (ENDED.includes(row.state)) return chip(row.state !== "done", row.state);
  const share = row.progress;
  return [`${row.state}${share === null ? "" : `, ${percent(share)}`} `, h("progress", { max: 1, value: share ?? false, "aria-label": `${row.state}, ${row.frames} frames` })];
}

const apart = (share) => (share === null || share === undefined ? "nobody knows how much" : percent(Math.abs(share)));
const WORDS = {
  analyze: (found) => `${count(found.flows, "flow")}, ${found.bottlenecked} held back`,
  replay: (found) => count(found.decisions, "decision"),
  what_if: (found) => `${found.differ} of ${count(found.decisions, "decision")} differ`,
  closed_loop: (found) => `${count(found.flows, "flow")} played again, mean queue off by ${apart(found.off_by.queue_mean_bytes)}`,
  sweep: (found) => `${count(found.rows, "row")}${found.off_by ? `, mean queue off by ${apart(found.off_by.queue_mean_bytes)}` : ""}`,
  conform: (found) => `${count(found.findings, "finding")} of ${count(found.flows, "sender")}`,
};

/** What a job came to, in words and links. */
function outcome(row) {
  if (row.reason) return row.reason;
  if (row.state !== "done") return row.frames ? count(row.frames, "frame") : "–";
  const found = row.found;
  const result = (format) => h("a", { href: address(`/jobs/${row.id}/result`, { format }) }, { json: "JSON", arrow: "Arrow", html: "report" }[format]);
  const words = WORDS[row.kind](found);
  const there = row.kind === "analyze" && found.stored && found.from_ns !== null
    ? [" · ", h("a", { href: overviewUrl(rangeOf(found)) }, "overview"), " · ", h("a", { href: findUrl("") }, "flows")] : null;
  const notes = [...(found.surest || []), ...(found.notes || [])].map((text) => h("div", { class: "where" }, text));
  return [words, there, row.results.map((format) => [" · ", result(format)]), notes];
}
