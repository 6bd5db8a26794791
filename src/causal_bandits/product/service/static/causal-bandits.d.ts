// Types of causal-bandits.js.

export type Level = string | number | boolean;
export type Value = Level | null;
export type Settings = Record<string, Level>;

export interface ClientOptions {
  /** Token of the server, with the scope "decide" for ask and tell. */
  token?: string | null;
  /** Milliseconds that an answer may take; 10,000 by default. */
  timeout?: number;
  /** How often a request that can be repeated without harm is repeated; 2 by default. */
  retries?: number;
  fetch?: typeof fetch;
}

export interface Problem {
  target: string;
  observed: Record<string, number | Level[] | string | Record<string, unknown>>;
  interventions: Record<string, number | Level[]>;
  [other: string]: unknown;
}

export interface Decision<Arm extends Settings = Settings> {
  id: number;
  arm: Arm;
  time: string;
  segment: Settings | null;
  [other: string]: unknown;
}

export interface AskOptions {
  /** The visitor: the same key gives the same decision. */
  key?: string;
  segment?: Settings;
  arms?: Settings[];
  signal?: AbortSignal;
}

export interface Outcome {
  /** A decision or its id; otherwise its key. */
  decision?: number | Pick<Decision, "id">;
  key?: string;
  mediators?: Record<string, Value>;
  reward?: Value;
  /** Variables that are still unknown will never come. */
  final?: boolean;
  signal?: AbortSignal;
}

export interface StudyInfo {
  name: string;
  created: string | null;
  policy: string | null;
  target: string | null;
  error: string | null;
}

export interface Alarm {
  code: string;
  level: "alarm" | "notice";
  title: string;
  says: string;
  raised: string;
  cleared: string | null;
}

export interface RequestOptions {
  body?: unknown;
  query?: Record<string, string | number | boolean | null | undefined>;
  repeatable?: boolean;
  signal?: AbortSignal;
}

/** An answer that is not a success, or none at all (status 0). */
export class BanditsError extends Error {
  readonly status: number;
  /** The name of the library's exception, such as "UnknownStudyError". */
  readonly error: string | null;
}

/** A server. */
export class Client {
  constructor(address: string | URL, options?: ClientOptions);
  studies(): Promise<StudyInfo[]>;
  study<Arm extends Settings = Settings>(name: string): Study<Arm>;
  create<Arm extends Settings = Settings>(
    name: string,
    problem: Problem,
    options?: Record<string, unknown>,
  ): Promise<Study<Arm>>;
  request(method: string, path: string, options?: RequestOptions): Promise<any>;
}

/** A study on a server. */
export class Study<Arm extends Settings = Settings> {
  constructor(client: Client, name: string);
  readonly name: string;
  ask(options?: AskOptions): Promise<Decision<Arm>>;
  askMany(count: number, options?: AskOptions): Promise<Decision<Arm>[]>;
  tell(outcome: Outcome): Promise<void>;
  tellMany(
    rows: Array<{ id?: number; key?: string } & Record<string, Value | undefined>>,
    options?: { final?: boolean; signal?: AbortSignal },
  ): Promise<number>;
  abandon(decision: number): Promise<void>;
  decision(id: number): Promise<{ id: number; status: string; outcome: Record<string, Value>; [other: string]: unknown }>;
  get(what: "alarms", query?: RequestOptions["query"]): Promise<Alarm[]>;
  get(what: string, query?: RequestOptions["query"]): Promise<any>;
  recommendation(query?: RequestOptions["query"]): Promise<any>;
}
