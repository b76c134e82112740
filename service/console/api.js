// The console knows only what the public API says.

export class ApiError extends Error {
  constructor(problem, url) {
    super(problem.detail || problem.title || "the service did not answer");
    this.problem = problem;
    this.url = url;
  }
}

/** Address of an API call, leaving out parameters that are not set. */
export function address(path, parameters) {
  const given = Object.entries(parameters || {})
    .flatMap(([name, value]) => (Array.isArray(value) ? value.map((each) => [name, each]) : [[name, value]]))
    .filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given).toString();
  return `/api/v1${path}${query ? `?${query}` : ""}`;
}

/** GET and read JSON; a problem document becomes an ApiError with its sentence. */
export async function get(path, parameters) {
  const url = address(path, parameters);
  let answer;
  try {
    answer = await fetch(url, { headers: { Accept: "application/json" } });
  } catch {
    throw new ApiError({ detail: "the service does not answer; is `hopsight serve` still running?" }, url);
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ApiError(body, url);
  return body;
}
