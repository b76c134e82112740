// Live updates: the service says that something changed, and a view of the latest time draws itself again.

const WAIT_MS = 2000;
const REFUSED_MS = 10_000;
const EVENTS = ["stored", "verdict", "alert", "reset"];
const LATEST = ["/", "/fabric", "/telemetry", "/alerts"];

let source = null;
let wanted = null;
let timer = null;
let missed = false;

/** Whether a view shows the latest time, so that news change it. */
export const follows = (path, parameters) => LATEST.includes(path) && !parameters.has("from") && !parameters.has("to") && !parameters.has("t");

/** Tell of news, once for all that come while it is waited. */
function soon(wait) {
  timer ||= setTimeout(() => {
    timer = null;
    if (document.hidden || !wanted) missed = true;
    else wanted();
  }, wait);
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden || !missed) return;
  missed = false;
  soon(0);
});

/** Until `listen` is called again nobody hears of news: a view that is being drawn would begin anew with each. */
export function pause() {
  wanted = null;
}

/** Listen while a view follows; `changed` is called at most once in a while. */
export function listen(following, changed) {
  wanted = following ? changed : null;
  if (!following) {
    source?.close();
    source = null;
    missed = false;
    return;
  }
  if (missed && !document.hidden) {
    missed = false;
    soon(WAIT_MS);
  }
  if (source) return;
  const opened = new EventSource("/api/v1/events");
  source = opened;
  // What was stored between the page and the stream is looked up once the stream stands.
  for (const name of ["open", ...EVENTS]) opened.addEventListener(name, () => soon(WAIT_MS));
  // A browser asks again where a stream ends, but not where it is refused.
  opened.addEventListener("error", () => {
    if (opened.readyState !== EventSource.CLOSED || source !== opened) return;
    source = null;
    soon(REFUSED_MS);
  });
}
