// The console knows only what the public API says.

export class ApiError extends Error {
  constructor(problem, url) {
    super(problem.detail || problem.title || "the service did not answer");
    this.problem = problem;
    this.url = url;
  }

  /** Whether another time may bring an answer: the service is busy, or away. */
  get passes() { return [undefined, 503].includes(this.problem.status); }
}

/** Address of an API call, leaving out parameters that are not set. */
export function address(path, parameters) {
  const given = Object.entries(parameters || {})
    .flatMap(([name, value]) => (Array.isArray(value) ? value.map((each) => [name, each]) : [[name, value]]))
    .filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given).toString();
  return `/api/v1${path}${query ? `?${query}` : ""}`;
}

/** By which key of its holder a whole number is found as it was sent, where a number of JavaScript is too coarse. */
const sent_as = (key) => Symbol.for(`exact ${key}`);

/** JSON; beside each number that is rounded (times in ns have 19 digits) its digits are kept. Older browsers do not tell them. */
function parsed(text) {
  return JSON.parse(text, function keep(key, value, context) {
    if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER && context?.source) this[sent_as(key)] = context.source;
    return value;
  });
}

/** What stands at a key, with all its digits. */
export function exact(holder, key) {
  const told = holder[sent_as(key)];
  return told !== undefined && Number(told) === holder[key] ? told : holder[key];
}

/** A value as JSON: numbers at any depth of it have all their digits. */
export function written(value) {
  return JSON.stringify(value, function whole(key, one) {
    const told = exact(this, key);
    // A browser that tells digits can write them, too.
    return typeof one === "number" && typeof told === "string" ? JSON.rawJSON(told) : one;
  });
}

const PATIENCE_MS = 5000;
/** Longer than the service takes for any answer. */
const MOST_MS = 60_000;

const wait = (ms) => new Promise((over) => setTimeout(over, ms));

/** GET; a service that is busy is asked again when it says, for a few seconds. */
async function patiently(url) {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await fetch(url, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(MOST_MS) });
    const later = 1000 * Number(answer.headers.get("Retry-After")) * (1 + Math.random() / 4);
    if (answer.status !== 503 || !(later > 0) || performance.now() + later > end) return answer;
    await wait(later);
  }
}

/** GET and read JSON; a problem document becomes an ApiError with its sentence. */
export async function get(path, parameters) {
  const url = address(path, parameters);
  let answer;
  try {
    answer = await patiently(url);
  } catch {
    throw new ApiError({ detail: "the service does not answer; is `hopsight serve` still running?" }, url);
  }
  const body = await answer.text().then(parsed).catch(() => ({}));
  if (!answer.ok) throw new ApiError(body, url);
  return body;
}

let asked = 0;

/** Whether a change is asked for and not answered yet. */
export const sending = () => asked > 0;

/** Ask for a change and read JSON; a problem document becomes an ApiError with its sentence. */
export async function send(method, path, body) {
  const url = address(path);
  const told = body === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  asked += 1;
  try {
    answer = await fetch(url, { method, ...told });
  } catch {
    throw new ApiError({ detail: "the service does not answer; is `hopsight serve` still running?" }, url);
  } finally {
    asked -= 1;
  }
  const read = answer.status === 204 ? {} : await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ApiError(read, url);
  return read;
}

/** Bring a file; `told` hears the share that has gone, 0 to 1. */
export function bring(path, parameters, file, told) {
  const url = address(path, parameters);
  return new Promise((taken, refused) => {
    const asked = new XMLHttpRequest();
    asked.open("POST", url);
    asked.setRequestHeader("Content-Type", "application/octet-stream");
    asked.responseType = "json";
    asked.upload.addEventListener("progress", (event) => { if (event.lengthComputable) told(event.loaded / event.total); });
    asked.addEventListener("load", () => (asked.status === 201 ? taken(asked.response) : refused(new ApiError(asked.response || {}, url))));
    asked.addEventListener("error", () => refused(new ApiError({ detail: "the file did not arrive; the service may have refused it before its end" }, url)));
    asked.send(file);
  });
}
