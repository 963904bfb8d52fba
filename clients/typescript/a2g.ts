/**
 * A2G: an agent asks before each call of a tool, and reports how it went. Its messages are signed
 * with an Ed25519 key of the agent's own, so that nobody else speaks in its name.
 *
 * ```ts
 * import { A2GClient, SigningKey } from "reeve-aos/a2g";
 *
 * const governance = new A2GClient({ agentDid: "did:example:helper", signing: await SigningKey.generate() });
 * await governance.register({ capabilities: ["write_file"] });
 * await governance.call("write_file", { path: "/tmp/a.txt" }, async ({ path }) => `wrote ${path}`);
 * ```
 *
 * It fails closed: whatever is no verdict that allows the call is an error, and nothing runs.
 *
 * @module
 */
import { GuardianError, NotAllowed, Unreachable, type Json, type JsonObject } from "./reeve-aos.js";

/** What was decided about an intent. */
export interface Verdict {
  readonly verdict: "APPROVED" | "CONDITIONAL" | "DENIED" | "ESCALATE";
  readonly intentId: string;
  readonly tool: string;
  /** What to call the tool with: as sent, or as the verdict has changed it. */
  readonly arguments: JsonObject;
  /** Sentences that the approval depends on. */
  readonly conditions: readonly string[];
  /** The risk: score, level, threats and more. */
  readonly risk: JsonObject;
  /** The limits of what runs: memory, time, files, hosts. */
  readonly manifest: JsonObject;
  readonly expiresAt: Date | undefined;
  /** Of a denial: why, and what the agent could do. */
  readonly message: string;
  readonly instead: readonly string[];
  /** Of a denial: static_policy, risk, capability, identity, approval or expired. */
  readonly blockedBy: string;
  /** The record's place in the ledger. */
  readonly decision: string;
  /** All that was answered. */
  readonly raw: JsonObject;
}

/** Whether a tool may be called now: it was approved, that has not expired, and nobody has reported yet that it was done. */
export function isAllowed({ verdict, expiresAt, raw }: Verdict): boolean {
  return (verdict === "APPROVED" || verdict === "CONDITIONAL") && raw["used"] !== true && expiresAt !== undefined && Date.now() < expiresAt.getTime();
}

/** The tool must not be called. The message is written for a model. */
export class Refused extends NotAllowed {
  override readonly name = "Refused";
  readonly verdict: Verdict;

  constructor(verdict: Verdict) {
    const said = verdict.message || (verdict.verdict === "ESCALATE" ? "A person must agree first." : verdict.verdict === "DENIED" ? "It was denied." : "The approval has expired, or was used.");
    super([said, ...verdict.instead].join(" "));
    this.verdict = verdict;
  }
}

/** What a registration was answered. */
export interface Registered {
  /** Whether every message must be signed from now on. */
  readonly signed: boolean;
  /** What the agent may do, as g2a/policy says it. */
  readonly policy: JsonObject;
  /** Why the key verifies nothing; empty where it does. */
  readonly warning: string;
}

/** How a call went. */
export interface Report {
  readonly status?: "SUCCESS" | "FAILURE" | "TIMEOUT" | "ABORTED";
  readonly result?: unknown;
  readonly error?: string;
  readonly metrics?: { readonly duration_ms?: number; readonly memory_used_mb?: number; readonly cpu_percent?: number };
  /** What was really done, to be compared with what was approved. */
  readonly tool?: string;
  readonly arguments?: object;
}

export interface A2GOptions {
  /** The agent's name, such as did:example:helper. */
  readonly agentDid: string;
  /** The agent's key, with which every message is signed; without it nothing is. */
  readonly signing?: SigningKey | undefined;
  /** Else /a2g of REEVE_URL, else http://127.0.0.1:8080/a2g. No redirect is followed. */
  readonly url?: string | undefined;
  /** An API key or token; else REEVE_KEY. */
  readonly key?: string | undefined;
  /** How long a call may take with its retries, in milliseconds (5000). */
  readonly timeout?: number | undefined;
  /** How often a call is made again that nobody answered (2). */
  readonly retries?: number | undefined;
  /** Makes the requests instead of the global one. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface IntentOptions {
  /** The same act asked about again has the same id. */
  readonly intentId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly parentIntent?: string | undefined;
  readonly reasoning?: string | undefined;
}

export interface CallOptions extends Omit<IntentOptions, "intentId"> {
  /** How long to wait where a person must agree first, in milliseconds. */
  readonly waitForApproval?: number | undefined;
}

/** An agent's Ed25519 key. */
export class SigningKey {
  /** The public half, as an agent registers with it. */
  readonly publicKey: string;
  readonly #private: CryptoKey;
  readonly #subtle: SubtleCrypto;

  private constructor(subtle: SubtleCrypto, key: CryptoKey, publicKey: string) {
    this.#subtle = subtle;
    this.#private = key;
    this.publicKey = publicKey;
  }

  /** A new key. */
  static async generate(): Promise<SigningKey> {
    const { subtle } = await webCrypto();
    const pair = (await subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
    return SigningKey.#of(subtle, pair.privateKey);
  }

  /** A key as PKCS #8 has it, such as `openssl genpkey -algorithm ed25519` writes it. */
  static async fromPem(pem: string): Promise<SigningKey> {
    const [, base64] = /-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----/.exec(pem) ?? [];
    if (base64 === undefined) {
      throw new TypeError("the text holds no private key in PEM (PKCS #8, not encrypted)");
    }
    const { subtle } = await webCrypto();
    const der = Uint8Array.from(atob(base64.replace(/\s/g, "")), (c) => c.charCodeAt(0));
    return SigningKey.#of(subtle, await subtle.importKey("pkcs8", der, "Ed25519", true, ["sign"]));
  }

  static async #of(subtle: SubtleCrypto, key: CryptoKey): Promise<SigningKey> {
    const { x = "" } = await subtle.exportKey("jwk", key);
    const raw = atob(x.replace(/-/g, "+").replace(/_/g, "/"));
    return new SigningKey(subtle, key, `ed25519:${hex(Uint8Array.from(raw, (c) => c.charCodeAt(0)))}`);
  }

  /** The key as PKCS #8: for a file that only the agent can read. */
  async pem(): Promise<string> {
    const der = new Uint8Array(await this.#subtle.exportKey("pkcs8", this.#private));
    return `-----BEGIN PRIVATE KEY-----\n${btoa(String.fromCharCode(...der))}\n-----END PRIVATE KEY-----\n`;
  }

  /** A signature of a message, as A2G has it: it counts once, and for five minutes. */
  async sign(message: string): Promise<JsonObject> {
    const { getRandomValues } = await webCrypto();
    const timestamp = String(Date.now());
    const nonce = hex(getRandomValues(new Uint8Array(16)));
    const signed = await this.#subtle.sign("Ed25519", this.#private, new TextEncoder().encode(`${timestamp}:${nonce}:${message}`));
    return { timestamp, nonce, hash: hex(new Uint8Array(signed)) };
  }
}

/** Asks before an agent's tools are called. */
export class A2GClient {
  readonly #did: string;
  readonly #signing: SigningKey | undefined;
  readonly #url: string;
  readonly #key: string;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof globalThis.fetch | undefined;

  constructor(options: A2GOptions) {
    const { env = {} } = (globalThis as { process?: { env?: Readonly<Record<string, string | undefined>> } }).process ?? {};
    const url = options.url === undefined ? new URL("/a2g", env["REEVE_URL"] || "http://127.0.0.1:8080") : new URL(options.url);
    if ((url.protocol !== "http:" && url.protocol !== "https:") || url.username !== "" || url.password !== "" || url.hash !== "") {
      throw new TypeError("the url begins with http: or https:, and holds no credentials: give them as key");
    }
    this.#url = url.href;
    this.#key = options.key ?? env["REEVE_KEY"] ?? "";
    if (!/^[\x21-\x7e]*$/.test(this.#key)) {
      throw new TypeError("the key holds a character that no credential has, such as a space or the end of a line");
    }
    this.#did = options.agentDid;
    this.#signing = options.signing;
    this.#timeout = options.timeout ?? 5000;
    this.#retries = options.retries ?? 2;
    if (!(this.#timeout > 0 && this.#timeout <= 2 ** 31 - 1) || !Number.isInteger(this.#retries) || this.#retries < 0) {
      throw new RangeError("timeout is a number of milliseconds above 0, and retries a whole number, 0 or more");
    }
    this.#fetch = options.fetch;
  }

  /** Registers the agent, with its public key. From then on it is believed nothing that is not signed. */
  async register(options: { readonly capabilities?: readonly string[]; readonly metadata?: object } = {}): Promise<Registered> {
    const { signatures, policy, warning } = await this.#call("a2g/register", {
      capabilities_requested: [...(options.capabilities ?? [])], metadata: copied(options.metadata ?? {}),
      ...(this.#signing === undefined ? {} : { public_key: this.#signing.publicKey }),
    });
    return { signed: signatures === "required", policy: isObject(policy) ? policy : {}, warning: textOf(warning) };
  }

  /** Asks whether a tool may be called. A denial is a verdict, and no error. */
  async ask(tool: string, args: object, options: IntentOptions = {}): Promise<Verdict> {
    const given = copied(args);
    const intentId = options.intentId ?? (await newId());
    const context: JsonObject = {};
    for (const [name, value] of [["session_id", options.sessionId], ["parent_intent", options.parentIntent], ["reasoning", options.reasoning]] as const) {
      if (value !== undefined) {
        context[name] = value;
      }
    }
    try {
      return verdictOf(await this.#call("a2g/intent", { intent_id: intentId, tool, arguments: given, ...(Object.keys(context).length > 0 ? { context } : {}) }), intentId, tool, given);
    } catch (error) {
      if (!(error instanceof GuardianError) || error.code !== policyViolation) {
        throw error;
      }
      return denialOf(error, intentId, tool, given);
    }
  }

  /** Says how an approved call went. */
  async report(intentId: string, report: Report = {}): Promise<void> {
    const said = Object.entries(report).filter(([name, value]) => name !== "status" && value !== undefined);
    await this.#call("a2g/report", { intent_id: intentId, status: report.status ?? "SUCCESS", ...copied(Object.fromEntries(said)) });
  }

  /** Says that the agent is there, and fetches the messages that wait for it: g2a/policy, g2a/directive, g2a/revoke. */
  async heartbeat(status?: string): Promise<{ readonly status: string; readonly pending: readonly JsonObject[] }> {
    const answer = await this.#call("a2g/heartbeat", status === undefined ? {} : { status });
    return { status: textOf(answer["status"]), pending: Array.isArray(answer["pending"]) ? answer["pending"].filter(isObject) : [] };
  }

  /**
   * Asks, calls run with the arguments as the verdict has them, and reports how it went. Throws
   * Refused where it must not run, and what run throws.
   */
  async call<A extends object, R>(tool: string, args: A, run: (args: A) => R, options: CallOptions = {}): Promise<Awaited<R>> {
    const { waitForApproval = 0, ...intent } = options;
    const intentId = await newId();
    const given = copied(args);
    const until = performance.now() + waitForApproval;
    let verdict = await this.ask(tool, given, { ...intent, intentId });
    for (let pause = 250; verdict.verdict === "ESCALATE" && performance.now() < until; pause = Math.min(pause * 1.5, 2000)) {
      await sleep(Math.min(pause, until - performance.now()));
      verdict = await this.ask(tool, given, { ...intent, intentId });
    }
    if (!isAllowed(verdict)) {
      throw new Refused(verdict);
    }
    const begun = performance.now();
    const metrics = () => ({ duration_ms: Math.round(performance.now() - begun) });
    let result: Awaited<R>;
    try {
      result = await run(verdict.arguments as A);
    } catch (error) {
      await this.report(intentId, { status: "FAILURE", error: String(error), metrics: metrics() });
      throw error;
    }
    await this.report(intentId, { result, metrics: metrics() });
    return result;
  }

  /** One call. It is signed anew each time, since a signature counts once; by its ids the other side knows it again. */
  async #call(method: string, params: JsonObject): Promise<JsonObject> {
    const id = await newId();
    const end = performance.now() + this.#timeout;
    const message: JsonObject = { agent_did: this.#did, ...params };
    for (let attempt = 0, pause = 100; ; attempt++, pause *= 4) {
      const answer = await this.#attempt(method, id, canonical({ jsonrpc: "2.0", id, method, params: await this.#signed(message) }), end - performance.now());
      if (!(answer instanceof NotAllowed)) {
        return answer;
      }
      if (attempt >= this.#retries || performance.now() + pause >= end) {
        throw answer;
      }
      await sleep(pause);
    }
  }

  async #signed(params: JsonObject): Promise<JsonObject> {
    if (this.#signing === undefined) {
      return params;
    }
    const context = params["context"];
    return { ...params, context: { ...(isObject(context) ? context : {}), signature: await this.#signing.sign(canonical(params)) } };
  }

  /** Sends a request once. What is thrown is final; what is returned may be tried again. */
  async #attempt(method: string, id: string, body: string, left: number): Promise<JsonObject | NotAllowed> {
    const shown = this.#url.replace(/\?.*/s, ""); // a query may hold a secret
    const headers: Record<string, string> = { "Content-Type": "application/json", Accept: "application/json" };
    if (this.#key !== "") {
      headers["Authorization"] = `Bearer ${this.#key}`;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), Math.max(0, left));
    let status: number;
    let text: string;
    try {
      // A redirect would carry the key, and what the agent does, to somebody else.
      const response = await (this.#fetch ?? globalThis.fetch)(this.#url, { method: "POST", headers, body, redirect: "manual", signal: stop.signal });
      if (response.type === "opaqueredirect" || (response.status >= 300 && response.status <= 399)) {
        throw new GuardianError(`${shown} answered with a redirect, which is not followed`, { status: response.status });
      }
      status = response.status;
      text = await readBounded(response);
    } catch (error) {
      if (error instanceof GuardianError) {
        throw error;
      }
      return new Unreachable(`${shown} cannot be reached: ${stop.signal.aborted ? "no answer within the time limit" : String(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch {
      answer = undefined;
    }
    const said = isObject(answer) && answer["jsonrpc"] === "2.0" && !("result" in answer) ? answer["error"] : undefined;
    if (isObject(said) && Number.isInteger(said["code"])) {
      const told = this.#key !== "" && text.includes(this.#key) ? "an error, and the key in it" : textOf(said["message"]).slice(0, 2000);
      const error = new GuardianError(told, { code: said["code"] as number, status, data: said["data"] as Json });
      if ([429, 503].includes(status) || error.code === -32603) {
        return error;
      }
      throw error;
    }
    if ([429, 500, 502, 503, 504].includes(status)) {
      return new Unreachable(`${shown} answered ${method} with the HTTP status ${status}`);
    }
    if (status !== 200 || !isObject(answer) || answer["jsonrpc"] !== "2.0" || "error" in answer || answer["id"] !== id || !isObject(answer["result"])) {
      throw new GuardianError(`${shown} gave no JSON-RPC 2.0 answer to ${method} (HTTP status ${status})`, { status });
    }
    return answer["result"];
  }
}

const policyViolation = -32000;
const maxAnswer = 16 << 20;
const maxDepth = 500;

/** Reads a verdict. One that is not exactly one allows nothing. */
function verdictOf(answer: JsonObject, intentId: string, tool: string, given: JsonObject): Verdict {
  const { verdict, modified_arguments: changed, expires_at: expires, conditions } = answer;
  if (answer["intent_id"] !== intentId) {
    throw new GuardianError("the verdict is about another intent than was asked about");
  }
  if (verdict !== "APPROVED" && verdict !== "CONDITIONAL" && verdict !== "ESCALATE" && verdict !== "DENIED") {
    throw new GuardianError("the verdict is none of APPROVED, CONDITIONAL, ESCALATE and DENIED");
  }
  if (changed !== undefined && changed !== null && (!isObject(changed) || verdict === "APPROVED")) {
    throw new GuardianError("the verdict changes the arguments in a way that none may");
  }
  const expiresAt = typeof expires === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(expires) ? new Date(expires) : undefined;
  if ((verdict === "APPROVED" || verdict === "CONDITIONAL") && !(expiresAt !== undefined && Number.isFinite(expiresAt.getTime()))) {
    throw new GuardianError("the verdict does not say when it expires");
  }
  return {
    verdict, intentId, tool, arguments: isObject(changed) ? changed : given, expiresAt, message: "", instead: [], blockedBy: "", raw: answer,
    conditions: textsOf(conditions), risk: memberOf(answer, "risk_assessment"),
    manifest: memberOf(answer, "capability_manifest"), decision: textOf(answer["decision"]),
  };
}

/** The verdict that an error of a denial is. */
function denialOf(error: GuardianError, intentId: string, tool: string, given: JsonObject): Verdict {
  const data = isObject(error.data) ? error.data : {};
  if (data["intent_id"] !== undefined && data["intent_id"] !== intentId) {
    throw new GuardianError("the denial is about another intent than was asked about");
  }
  return {
    verdict: "DENIED", intentId, tool, arguments: given, conditions: [], risk: memberOf(data, "risk_assessment"), manifest: {}, expiresAt: undefined,
    message: error.message, instead: textsOf(data["instead"]), blockedBy: textOf(data["blocked_by"]), decision: textOf(data["decision"]), raw: data,
  };
}

/**
 * A value as canonical JSON: names sorted by code points, no spaces. TypeError for what JSON has no
 * form for: a Map, whose JSON is {}, would carry something past who judges.
 */
function canonical(value: unknown, depth = 0): string {
  if (depth > maxDepth) {
    throw new TypeError("a value is nested too deep, or contains itself");
  }
  if (value === null || typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) {
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) {
    return `[${Array.from(value, (v) => canonical(v, depth + 1)).join(",")}]`;
  }
  if (typeof value === "object") {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === null || Object.getPrototypeOf(prototype) === null) {
      const members = Object.entries(value).filter(([, v]) => v !== undefined).sort(([a], [b]) => byCodePoint(a, b));
      return `{${members.map(([name, v]) => `${JSON.stringify(name)}:${canonical(v, depth + 1)}`).join(",")}}`;
    }
  }
  throw new TypeError("a value is not what JSON can say: null, a boolean, a finite number, a string, an array or a plain object");
}

function byCodePoint(a: string, b: string): number {
  const x = Array.from(a, (c) => c.codePointAt(0)!);
  const y = Array.from(b, (c) => c.codePointAt(0)!);
  const i = x.findIndex((point, i) => point !== y[i]);
  return i < 0 ? x.length - y.length : i >= y.length ? 1 : x[i]! - y[i]!;
}

/** A copy, which is what is judged, and what is done. */
function copied(value: object): JsonObject {
  return JSON.parse(canonical(value)) as JsonObject;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function memberOf(holder: JsonObject, name: string): JsonObject {
  const value = holder[name];
  return isObject(value) ? value : {};
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function textsOf(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((s) => typeof s === "string") : [];
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

async function newId(): Promise<string> {
  const { getRandomValues } = await webCrypto();
  const bytes = getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return hex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, milliseconds)));
}

async function readBounded(response: Response): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let size = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const piece = await reader?.read();
    if (piece === undefined || piece.done) {
      return text + decoder.decode();
    }
    size += piece.value.byteLength;
    if (size > maxAnswer) {
      await reader?.cancel();
      throw new GuardianError(`the answer is larger than ${maxAnswer} bytes`, { status: response.status });
    }
    text += decoder.decode(piece.value, { stream: true });
  }
}

/** What is used of the Web Cryptography API, bound to where it comes from. */
interface WebCrypto {
  readonly subtle: SubtleCrypto;
  readonly getRandomValues: (array: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;
}

/** The Web Cryptography API, which Node.js 18 has in a module only; no import names it, so that browsers and bundlers have nothing to look for. */
async function webCrypto(): Promise<WebCrypto> {
  let found = (globalThis as { crypto?: Crypto }).crypto;
  if (found?.subtle === undefined) {
    const name = "node:crypto";
    found = ((await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as { webcrypto: Crypto }).webcrypto;
  }
  const own = found;
  return { subtle: own.subtle, getRandomValues: (array) => own.getRandomValues(array) };
}
