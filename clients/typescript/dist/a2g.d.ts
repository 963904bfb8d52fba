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
import { NotAllowed, type JsonObject } from "./reeve-aos.js";
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
export declare function isAllowed({ verdict, expiresAt, raw }: Verdict): boolean;
/** The tool must not be called. The message is written for a model. */
export declare class Refused extends NotAllowed {
    readonly name = "Refused";
    readonly verdict: Verdict;
    constructor(verdict: Verdict);
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
    readonly metrics?: {
        readonly duration_ms?: number;
        readonly memory_used_mb?: number;
        readonly cpu_percent?: number;
    };
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
export declare class SigningKey {
    #private;
    /** The public half, as an agent registers with it. */
    readonly publicKey: string;
    private constructor();
    /** A new key. */
    static generate(): Promise<SigningKey>;
    /** A key as PKCS #8 has it, such as `openssl genpkey -algorithm ed25519` writes it. */
    static fromPem(pem: string): Promise<SigningKey>;
    /** The key as PKCS #8: for a file that only the agent can read. */
    pem(): Promise<string>;
    /** A signature of a message, as A2G has it: it counts once, and for five minutes. */
    sign(message: string): Promise<JsonObject>;
}
/** Asks before an agent's tools are called. */
export declare class A2GClient {
    #private;
    constructor(options: A2GOptions);
    /** Registers the agent, with its public key. From then on it is believed nothing that is not signed. */
    register(options?: {
        readonly capabilities?: readonly string[];
        readonly metadata?: object;
    }): Promise<Registered>;
    /** Asks whether a tool may be called. A denial is a verdict, and no error. */
    ask(tool: string, args: object, options?: IntentOptions): Promise<Verdict>;
    /** Says how an approved call went. */
    report(intentId: string, report?: Report): Promise<void>;
    /** Says that the agent is there, and fetches the messages that wait for it: g2a/policy, g2a/directive, g2a/revoke. */
    heartbeat(status?: string): Promise<{
        readonly status: string;
        readonly pending: readonly JsonObject[];
    }>;
    /**
     * Asks, calls run with the arguments as the verdict has them, and reports how it went. Throws
     * Refused where it must not run, and what run throws.
     */
    call<A extends object, R>(tool: string, args: A, run: (args: A) => R, options?: CallOptions): Promise<Awaited<R>>;
}
