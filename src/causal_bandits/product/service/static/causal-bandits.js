// A client of a causal-bandits server, for browsers and Node 20.3 or later. One module without dependencies; its types are
// in causal-bandits.d.ts. What can be repeated without harm is tried again when the server does not answer.

const RETRIED = new Set([429, 502, 503, 504]);

/** An answer that is not a success, or none at all (status 0); `error` is the name of the library's exception. */
export class BanditsError extends Error {
  constructor(message, { status = 0, error = null, cause } = {}) {
    super(message, { cause });
    this.name = "BanditsError";
    this.status = status;
    this.error = error;
  }
}

/** A server. */
export class Client {
  #address;
  #token;
  #timeout;
  #retries;
  #fetch;

  constructor(address, { token = null, timeout = 10_000, retries = 2, fetch = globalThis.fetch } = {}) {
    if (!/^https?:\/\//.test(String(address))) {
      throw new TypeError(`address is ${JSON.stringify(address)}; expected one such as https://bandits.example.com`);
    }
    if (typeof fetch !== "function") throw new TypeError("there is no fetch here; pass one, or use Node 20.3 or later");
    this.#address = String(address).replace(/\/+$/, "");
    this.#token = token;
    this.#timeout = timeout;
    this.#retries = retries;
    this.#fetch = fetch.bind(globalThis);
  }

  /** All studies, the oldest first. */
  studies() {
    return this.request("GET", "/studies");
  }

  /** A study by name; nothing is sent. */
  study(name) {
    return new Study(this, name);
  }

  /** Create a study; the same again changes nothing. */
  async create(name, problem, options = {}) {
    await this.request("POST", "/studies", { body: { name, problem, ...options }, repeatable: true });
    return new Study(this, name);
  }

  /** One request to a path under /api/v1; resolves to what the server answered. */
  async request(method, path, { body, query = {}, repeatable = method === "GET", signal } = {}) {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const search = given.length ? `?${new URLSearchParams(given)}` : "";
    const url = `${this.#address}/api/v1${path}${search}`;
    const headers = { Accept: "application/json" };
    if (this.#token !== null) headers.Authorization = `Bearer ${this.#token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const init = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
    for (let attempt = 0; ; attempt += 1) {
      const last = !repeatable || attempt >= this.#retries;
      let answer;
      try {
        const late = AbortSignal.timeout(this.#timeout);
        answer = await this.#fetch(url, { ...init, signal: signal ? AbortSignal.any([signal, late]) : late });
        if (answer.ok) return answer.status === 204 ? undefined : await answer.json();
      } catch (cause) {
        if (last || signal?.aborted) {
          throw new BanditsError(`server ${this.#address} cannot be reached (${reason(cause)})`, { cause });
        }
      }
      if (answer && (last || !RETRIED.has(answer.status))) throw await refused(answer);
      await pause(answer?.headers.get("Retry-After"), attempt);
    }
  }
}

/** A study on a server. */
export class Study {
  #client;
  #path;

  constructor(client, name) {
    if (typeof name !== "string" || !name.trim()) throw new TypeError("expected the name of a study");
    this.#client = client;
    this.name = name;
    this.#path = `/studies/${encodeURIComponent(name)}`;
  }

  /** One decision. With a key (a visitor) the same key gives the same decision, and a lost answer is asked for again. */
  async ask({ key, segment, arms, signal } = {}) {
    const [decision] = await this.#ask({ count: 1, key, segment, arms }, signal);
    return decision;
  }

  /** Several decisions from the same state. */
  askMany(count, { key, segment, arms, signal } = {}) {
    return this.#ask({ count, key, segment, arms }, signal);
  }

  #ask(body, signal) {
    const repeatable = body.key !== undefined && body.key !== null;
    return this.#client.request("POST", `${this.#path}/decisions`, { body, repeatable, signal });
  }

  /** The outcome of a decision, by its id or by the key that it was asked for with: whole or in part, in any order. */
  async tell({ decision, key, mediators, reward, final = false, signal }) {
    if ((decision === undefined) === (key === undefined)) throw new TypeError("name either a decision or a key");
    const id = typeof decision === "object" && decision !== null ? decision.id : decision;
    const body = { mediators, reward, final, ...(key === undefined ? {} : { key }) };
    const path = key === undefined ? `${this.#path}/decisions/${encodeURIComponent(id)}` : `${this.#path}/decisions`;
    await this.#client.request("PATCH", path, { body, repeatable: true, signal });
  }

  /** Many outcomes, all or none: rows with an id or a key and a field for each variable. Resolves to how many were new. */
  async tellMany(rows, { final = false, signal } = {}) {
    const query = final ? { final } : {};
    const { told } = await this.#client.request("POST", `${this.#path}/outcomes`, {
      body: rows, query, repeatable: true, signal,
    });
    return told;
  }

  /** Close a decision that will never get its outcome. */
  async abandon(decision) {
    await this.#client.request("POST", `${this.#path}/decisions/${encodeURIComponent(decision)}/abandon`, {
      body: {}, repeatable: true,
    });
  }

  /** One decision with its outcome so far. */
  decision(id) {
    return this.#client.request("GET", `${this.#path}/decisions/${encodeURIComponent(id)}`);
  }

  /** What the server knows under a path of the study: "recommendation", "estimates", "advice", "health", "alarms", ... */
  get(what, query = {}) {
    return this.#client.request("GET", `${this.#path}/${what}`, { query });
  }

  /** The arm to deploy, and how sure that is. */
  recommendation(query = {}) {
    return this.get("recommendation", query);
  }
}

function reason(cause) {
  return cause?.name === "TimeoutError" ? "no answer in time" : (cause?.cause?.message ?? cause?.message ?? String(cause));
}

async function refused(answer) {
  let said = {};
  try {
    said = await answer.json();
  } catch {
    // a proxy answers in its own words
  }
  const message = said.detail ?? `the server answered ${answer.status}`;
  return new BanditsError(message, { status: answer.status, error: said.error ?? null });
}

function pause(after, attempt) {
  const seconds = Number(after) > 0 ? Math.min(Number(after), 30) : 0.1 * 2 ** attempt * (1 + Math.random());
  return new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
}
