// Live updates: the service says that something changed, and a view of the latest time draws itself again.

const WAIT_MS = 2000;
const EVENTS = ["stored", "verdict", "alert", "reset"];
const LATEST = ["/", "/fabric", "/telemetry", "/alerts"];

let source = null;

/** Whether a view shows the latest time, so that news change it. */
export const follows = (path, parameters) => LATEST.includes(path) && !parameters.has("from") && !parameters.has("to") && !parameters.has("t");

/** Listen while a view follows; `changed` is called at most once in a while. */
export function listen(following, changed) {
  if (!following) {
    source?.close();
    source = null;
    return;
  }
  if (source) return;
  source = new EventSource("/api/v1/events");
  let timer = null;
  const later = () => { timer ||= setTimeout(() => { timer = null; if (source && !document.hidden) changed(); }, WAIT_MS); };
  // What was stored between the page and the stream is looked up once the stream stands.
  source.addEventListener("open", later);
  for (const name of EVENTS) source.addEventListener(name, later);
}
