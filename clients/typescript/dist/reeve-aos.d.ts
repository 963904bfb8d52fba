/**
 * A client for AOS 0.1.0, the Agent Observability Standard: an agent tells a guardian of each step
 * before it takes it, and obeys the answer.
 *
 *     const guardian = new Guardian({ agent: { id: "helper", instructions: "Help the office." } });
 *     const session = guardian.session();
 *
 *     await session.turn().run(async (turn) => {
 *       const { content: question } = await turn.userMessage("What is in notes.txt?");
 *       const readFile = turn.guarded(({ path }: { path: string }) => read(path), { name: "read_file" });
 *       const notes = await readFile({ path: "notes.txt" }); // asked, run, reported
 *       const { content: answer } = await turn.agentMessage(`It says: ${notes}`);
 *     });
 *
 * Each method returns a {@link Verdict} whose `content` is what the agent goes on with: what it
 * sent, or what the policy made of it. Any error means that the step must not happen. Those that
 * the client itself throws are {@link NotAllowed}:
 *
 * - {@link Denied}: the guardian said no. It has `reasons`, and what to do `instead`.
 * - {@link Unreachable}: nobody answered, in time and after retries.
 * - {@link GuardianError}: something answered, and it was no verdict.
 *
 * This file depends on nothing but `fetch`. It runs in Node.js 18 and later, and wherever else the
 * web's standard interfaces are, such as a browser's worker.
 *
 * @module
 */
/** A value that JSON can express. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
/** An object that JSON can express. */
export interface JsonObject {
    [name: string]: Json;
}
/** Arbitrary members, which must be JSON. */
export type Metadata = Readonly<Record<string, unknown>>;
/** Who provides an agent (3.1.1). */
export interface Provider {
    readonly name?: string | undefined;
    readonly url?: string | undefined;
    readonly metadata?: Metadata | undefined;
}
/** What an agent says about itself (3.1). It must stay the same for the whole of a session. */
export interface Agent {
    /** The name when absent: one of them is needed. */
    readonly id?: string | undefined;
    /** The id when absent. */
    readonly name?: string | undefined;
    readonly description?: string | undefined;
    /** The system prompt, which lets the guardian notice when it leaks. Empty when absent. */
    readonly instructions?: string | undefined;
    /** "0" when absent. */
    readonly version?: string | undefined;
    /** Empty names when absent. */
    readonly provider?: Provider | undefined;
    readonly model?: Model | undefined;
    /** Absent tools are unknown; an empty list says that there are none. */
    readonly tools?: readonly ToolDefinition[] | undefined;
    readonly mcpServers?: readonly {
        readonly name: string;
        readonly version: string;
    }[] | undefined;
    readonly resources?: readonly Resource[] | undefined;
    readonly organization?: Organization | undefined;
    readonly metadata?: Metadata | undefined;
}
/** An agent's language model (3.1.2). */
export interface Model {
    readonly name: string;
    readonly id: string;
    readonly provider: {
        readonly name: string;
        readonly metadata?: Metadata | undefined;
    };
    readonly maxTokens?: number | undefined;
    readonly contextWindow?: number | undefined;
    readonly stopSequences?: readonly string[] | undefined;
    readonly defaultParams?: Metadata | undefined;
    readonly metadata?: Metadata | undefined;
}
/** A resource that an agent can use (3.1.5). */
export interface Resource {
    readonly name: string;
    readonly id: string;
    readonly description?: string | undefined;
    readonly content: string;
    readonly mimeType?: string | undefined;
    readonly metadata?: Metadata | undefined;
}
/** The type of a tool's argument or output. */
export type ValueType = "string" | "number" | "boolean" | "object" | "array" | "null";
/** Declares a tool (3.2). Arguments or outputs that are null say that it has none. */
export interface ToolDefinition {
    readonly name: string;
    readonly id: string;
    readonly description?: string | undefined;
    /** Such as function_call or api_request. */
    readonly type: string;
    readonly arguments: readonly ToolArgumentDefinition[] | null;
    readonly outputs: readonly ToolOutputDefinition[] | null;
    readonly metadata?: Metadata | undefined;
}
/** Declares a tool's output (3.2.2). */
export interface ToolOutputDefinition {
    readonly name: string;
    readonly id?: string | undefined;
    readonly description?: string | undefined;
    readonly type?: ValueType | undefined;
    readonly mimeType?: string | null | undefined;
}
/** Declares a tool's argument (3.2.1). */
export interface ToolArgumentDefinition extends ToolOutputDefinition {
    readonly required: boolean;
}
/** One piece of content that is text (3.4.1). */
export interface TextPart {
    readonly kind: "text";
    readonly text: string;
    readonly metadata?: Metadata | undefined;
}
/** One piece of content that is a file, as Base64 (RFC 4648, section 4) or by its address (3.4.2). */
export interface FilePart {
    readonly kind: "file";
    readonly file: {
        readonly name?: string | undefined;
        readonly mimeType?: string | undefined;
        readonly bytes: string;
        readonly uri?: undefined;
    } | {
        readonly name?: string | undefined;
        readonly mimeType?: string | undefined;
        readonly uri: string;
        readonly bytes?: undefined;
    };
    readonly metadata?: Metadata | undefined;
}
/** One piece of content that is an object or an array (3.4.3). */
export interface DataPart {
    readonly kind: "data";
    readonly data: object;
    readonly metadata?: Metadata | undefined;
}
/** One piece of content (3.4). */
export type Part = TextPart | FilePart | DataPart;
/** What a message says: a text, or its parts, of which there is at least one. */
export type Content = string | readonly Part[];
/** A source that a message cites (3.7). */
export type Source = {
    readonly kind: "file";
    readonly id: string;
    readonly name: string;
    readonly url?: string | undefined;
} | {
    readonly kind: "site";
    readonly url: string;
};
/** The person that an agent works for (3.10). */
export interface User {
    readonly id: string;
    readonly name?: string | undefined;
    readonly email?: string | undefined;
    /** The agent's when absent. */
    readonly organization?: Organization | undefined;
    readonly metadata?: Metadata | undefined;
}
/** An organization (3.11). */
export interface Organization {
    readonly id: string;
    readonly name?: string | undefined;
    readonly metadata?: Metadata | undefined;
}
/** What was looked for, and what was found (3.14). */
export interface Knowledge {
    readonly query?: string | undefined;
    readonly keywords?: readonly string[] | undefined;
    readonly results: readonly KnowledgeResult[];
}
/** One piece of what was found (3.14.1). */
export interface KnowledgeResult {
    /** The source's id. */
    readonly id: string;
    readonly content: string;
    readonly mimeType?: string | undefined;
    readonly metadata?: Metadata | undefined;
}
/** What people were asked about an act that a rule holds for them. */
export interface Approval {
    readonly id: string;
    /** held, approved, used, denied, expired or revoked. */
    readonly state: string;
    readonly expiresAt: string;
}
/** The guardian's answer to a step. Texts and lists are empty when it says nothing about the matter. */
export interface Verdict<T> {
    /** A step's method returns no denial: it throws {@link Denied}, whose `verdict` is one. */
    readonly decision: "allow" | "deny" | "modify";
    /**
     * What passes on, in the form in which it was given: what was asked about, or with `modify` what
     * the guardian made of it. It is always a copy of what was judged, which nobody changed meanwhile.
     */
    readonly content: T;
    /** All of the params that pass on: beside the content such as citations and metadata. */
    readonly params: JsonObject;
    /** The answer as it came (5.1.1); empty when nobody could be asked. */
    readonly raw: JsonObject;
    /** The step, as AOS names it, such as steps/toolCallRequest. */
    readonly method: string;
    /** Of a tool call: the id that its result answers. */
    readonly executionId: string;
    /** Why the guardian could not be asked, when the step goes on nevertheless (see onUnreachable). */
    readonly unreachable: Unreachable | undefined;
    /** Says to a person what was decided and why. */
    readonly message: string;
    /** Every rule that applied, and what it says. */
    readonly reasoning: string;
    /** The stable codes of the rules that applied. */
    readonly reasons: readonly string[];
    /** What the guardian adds: the rules, the risk, the path of a receipt and more. */
    readonly data: JsonObject;
    /** The place of the decision in the guardian's ledger. */
    readonly decisionId: string;
    /** What the agent could do instead. */
    readonly instead: readonly string[];
    /** Sentences under which the step is allowed. */
    readonly conditions: readonly string[];
    /** It is the recorded answer to a step that was asked about before. */
    readonly repeat: boolean;
    /** What people were asked about this act, if they were. */
    readonly approval: Approval | undefined;
    /** It is denied for now: a person must agree first. */
    readonly pending: boolean;
}
/** How the guardian is (5.3.1). */
export interface Ping {
    /** error: it cannot record decisions, and gives none. */
    readonly status: "connected" | "error";
    readonly version: string;
    readonly timestamp: string;
    readonly metadata: JsonObject;
}
/** The step must not happen. Denied, Unreachable and GuardianError are the reasons there are. */
export declare abstract class NotAllowed extends Error {
    /** Which step, as AOS names it. With steps/toolCallResult a guarded tool has run, and its result is withheld. */
    method: string;
}
/** The guardian said no. The error's message says why and what to do instead, so that a model can read it. */
export declare class Denied extends NotAllowed {
    readonly name = "Denied";
    readonly verdict: Verdict<unknown>;
    /** The stable codes of the rules that applied. */
    readonly reasons: readonly string[];
    /** What the agent could do instead. */
    readonly instead: readonly string[];
    /** The place of the decision in the guardian's ledger. */
    readonly decisionId: string;
    /** What people were asked about this act, if they were. */
    readonly approval: Approval | undefined;
    /** Not denied for good: a person must agree first. The same act may be tried again later. */
    readonly pending: boolean;
    constructor(verdict: Verdict<unknown>, message?: string);
}
/** The guardian did not answer: it is down, too slow, or behind a gateway that cannot reach it. */
export declare class Unreachable extends NotAllowed {
    readonly name = "Unreachable";
}
/** The guardian answered, and it was no verdict: an error, or what no guardian answers. */
export declare class GuardianError extends NotAllowed {
    readonly name = "GuardianError";
    /** The JSON-RPC error's code; undefined when there was none. */
    readonly code: number | undefined;
    /** The HTTP status. */
    readonly status: number | undefined;
    /** The JSON-RPC error's data. Of an invalid request: field, reason and expected. */
    readonly data: Json | undefined;
    constructor(message: string, details?: {
        code?: number | undefined;
        status?: number | undefined;
        data?: Json | undefined;
    });
}
/** A tool threw an error, and the guardian changed its text. This is what is left of it: it has no cause, which would show what was taken out. */
export declare class ToolFailed extends Error {
    readonly name = "ToolFailed";
}
/** A question to the guardian. */
export interface Step<T = unknown> {
    /** As AOS names it, such as steps/toolCallRequest. */
    readonly method: string;
    readonly params: JsonObject;
    /** What the question is about: what the agent goes on with when it is allowed. */
    readonly content: T;
    readonly executionId: string;
}
/** How a guardian is asked. */
export interface GuardianOptions {
    /** Who asks: an id, or more. */
    readonly agent: string | Agent;
    /** The guardian's address. When absent: REEVE_URL of the environment, else http://127.0.0.1:8080/aos. */
    readonly url?: string | undefined;
    /** An API key or token. When absent: REEVE_KEY of the environment, else none is sent. */
    readonly key?: string | undefined;
    /** How long a step waits for its answer, with all retries, in milliseconds. 5000 when absent. */
    readonly timeout?: number | undefined;
    /** How often a request is sent again when nobody answered it, or the guardian was too busy. 2 when absent. */
    readonly retries?: number | undefined;
    /**
     * "deny" throws Unreachable. "allow" goes on unguarded: a warning is written once, and each verdict
     * has `unreachable`. A function is given the Step and the Unreachable, and returns "allow" or
     * "deny". A guardian that is slow but alive is not away: then Unreachable is thrown in any case.
     * So it is when a page's or worker's request to another site fails, since a browser does not tell
     * an answer that the page may not read from none. "deny" when absent.
     */
    readonly onUnreachable?: "deny" | "allow" | ((step: Step, error: Unreachable) => "deny" | "allow" | Promise<"deny" | "allow">) | undefined;
    /** How long to wait when a person must agree first, in milliseconds; then it is Denied, with `pending`. The guardian may keep its answer back so long. 0 when absent. */
    readonly waitForApproval?: number | undefined;
    /** Makes the requests. The global one when absent. */
    readonly fetch?: typeof globalThis.fetch | undefined;
}
/** What can be said about a session. */
export interface SessionOptions {
    /** A new one when absent. Give one to go on with a session. */
    readonly id?: string | undefined;
    /** The person that the agent works for: an id, or more. Absent when it works for nobody. */
    readonly user?: string | User | undefined;
    readonly metadata?: Metadata | undefined;
}
/** What can be said about a turn. */
export interface TurnOptions {
    /** A new one when absent. */
    readonly id?: string | undefined;
    /** Ends every step that is asked about in this turn: the step's promise is rejected with the signal's reason. */
    readonly signal?: AbortSignal | undefined;
}
/** What can be said about any step. */
export interface StepOptions {
    /** Ends the step, as the turn's does. */
    readonly signal?: AbortSignal | undefined;
}
/** What can be said about a step that the agent takes for a reason. */
export interface ReasonedStepOptions extends StepOptions {
    /** Why the agent takes the step, in its own words. */
    readonly reasoning?: string | undefined;
}
/** What can be said about retrieved knowledge. */
export interface KnowledgeOptions extends ReasonedStepOptions {
    /** What it was looked for with. */
    readonly query?: string | undefined;
    readonly keywords?: readonly string[] | undefined;
}
/** What can be said about an event that wakes the agent. */
export interface TriggerOptions extends StepOptions {
    /** The event's id; a new one when absent. */
    readonly id?: string | undefined;
    readonly metadata?: Metadata | undefined;
}
/** What can be said about a message of the user. */
export interface MessageOptions extends StepOptions {
    /** Unique in the session; a new one when absent. */
    readonly id?: string | undefined;
    readonly metadata?: Metadata | undefined;
}
/** What can be said about a message of the system. */
export interface ReasonedMessageOptions extends MessageOptions, ReasonedStepOptions {
}
/** What can be said about a message of the agent. */
export interface CitingMessageOptions extends ReasonedMessageOptions {
    /** The sources that the message cites. */
    readonly citation?: readonly Source[] | undefined;
}
/** What can be said about a tool's call. */
export interface ToolCallOptions extends ReasonedStepOptions {
    /** Which its result answers; a new one when absent. */
    readonly executionId?: string | undefined;
}
/** What can be said about a tool's result. */
export interface ToolResultOptions extends StepOptions {
    /** The outputs are what the tool said when it failed. */
    readonly isError?: boolean | undefined;
}
/** What can be said about a guarded tool. */
export interface GuardedOptions {
    /** The tool's id, by which rules name it. The function's own name when absent. */
    readonly name?: string | undefined;
    /** Instead of the guardian's, for the tool's calls and results. */
    readonly waitForApproval?: number | undefined;
}
/** A tool: it takes its arguments by their names, as one object. What follows the object is not judged. */
export type Tool<A extends unknown[], R> = (...args: A) => R;
/** How a tool's output is told to the guardian, and made anew of what the guardian left of it. */
export interface Reading {
    /** The texts of an output. It throws when the output cannot be judged. */
    readonly texts: (output: unknown) => readonly string[];
    /** The output with other texts, as many as it had. It throws when the output cannot hold them. */
    readonly replaced: (output: unknown, texts: readonly string[]) => unknown;
}
/** What can be said about a guarded call. */
export interface CallOptions {
    /** How an output is read that is neither a string nor plain JSON. */
    readonly reading?: Reading | undefined;
    /** Instead of the guardian's, for the call and its result. */
    readonly waitForApproval?: number | undefined;
}
/** A guarded tool. */
export type Guarded<A extends unknown[], R> = (...args: A) => Promise<Awaited<R>>;
/** A guardian, and the agent that asks it. It can be used for any number of sessions at once. */
export declare class Guardian {
    #private;
    /** The agent, as the guardian is told of it. */
    readonly agent: Readonly<JsonObject>;
    constructor(options: GuardianOptions);
    /** A session: one conversation or task, of one user. Nothing is asked yet, and nothing needs to be closed. */
    session(options?: SessionOptions): Session;
    /**
     * Guards a tool: each call is asked about, made with the inputs that the verdict gives, and its
     * result is reported and replaced by what the verdict leaves of it. The call belongs to the turn
     * whose `run` it happens in. Where there is no AsyncLocalStorage (in a browser), `options.turn`
     * must find it among the call's arguments; `turn.guarded` needs neither.
     */
    guarded<A extends unknown[], R>(tool: Tool<A, R>, options?: GuardedOptions & {
        readonly turn?: ((...args: A) => Turn) | undefined;
    }): Guarded<A, R>;
    /** The turn in whose `run` this is called; undefined outside of one, and where nothing can tell. */
    get openTurn(): Turn | undefined;
    /** Asks whether the guardian is there and able to record (4.9). */
    ping(options?: {
        readonly signal?: AbortSignal | undefined;
    }): Promise<Ping>;
}
/** One conversation or task. {@link Guardian.session} makes it. */
declare class Session {
    #private;
    readonly id: string;
    readonly guardian: Guardian;
    /** The name of the agent that acts in it. */
    get agent(): string;
    /** The session of an agent that this one starts or hands over to. Labels of what it reads are this session's, too. */
    below(agent: string): Session;
    /** A turn: what happens between a prompt, or an event, and the answer to it. */
    turn(options?: TurnOptions): Turn;
}
/** One turn of a session, with a method for each step of AOS. {@link Session.turn} makes it. */
declare class Turn {
    #private;
    readonly id: string;
    readonly session: Session;
    /** Runs a body, in which `guardian.guarded` tools belong to this turn, and gives its result. */
    run<R>(body: (turn: Turn) => R): Promise<Awaited<R>>;
    /**
     * One guarded call of a tool that is known by its name and inputs: asks, runs it with the inputs
     * that the guardian left, reports what it gave, and returns what was left of that.
     */
    call<I extends object, R>(tool: string, inputs: I, run: (inputs: I) => R, options?: CallOptions): Promise<Awaited<R>>;
    /**
     * The agent's answer, as far as the user may read it: sentence by sentence, each judged with what stands before
     * it, and the whole at its end. A text without an end of a sentence is judged when it is `within` milliseconds old
     * (1000), or 1000 characters long (4000 where it has no gap to be cut at). Denied is thrown where it may not go on; so it is when
     * the guardian would change what has been read already.
     */
    stream(tokens: AsyncIterable<string> | Iterable<string>, options?: {
        readonly within?: number | undefined;
    }): AsyncGenerator<string, void, undefined>;
    /**
     * The same turn of an agent that this one starts or hands over to. It is told as a session below
     * this one, with a name of its own; undefined and the guardian's own name are this agent.
     */
    of(agent: string | undefined): Turn;
    /** Guards a tool, as {@link Guardian.guarded} does; its calls belong to this turn. */
    guarded<A extends unknown[], R>(tool: Tool<A, R>, options?: GuardedOptions): Guarded<A, R>;
    /** An event wakes the agent (4.1). The type is the event's, such as "email"; `id` is its id, such as the mail's. */
    agentTrigger<C extends Content>(type: string, content: C, options?: TriggerOptions): Promise<Verdict<Same<C>>>;
    /** The user said something, and the agent is about to read it (4.5). */
    userMessage<C extends Content>(content: C, options?: MessageOptions): Promise<Verdict<Same<C>>>;
    /** The agent answers, and the user is about to read it (4.5). */
    agentMessage<C extends Content>(content: C, options?: CitingMessageOptions): Promise<Verdict<Same<C>>>;
    /** The system says something, such as a guardrail, and the user is about to read it (4.5). */
    systemMessage<C extends Content>(content: C, options?: ReasonedMessageOptions): Promise<Verdict<Same<C>>>;
    /** Knowledge was retrieved, and the model is about to read it (4.2). */
    knowledgeRetrieval(results: readonly KnowledgeResult[], options?: KnowledgeOptions): Promise<Verdict<Knowledge>>;
    /** Memories are about to be stored (4.3). What has structure is given as JSON text. */
    memoryStore<M extends string | readonly string[]>(memory: M, options?: ReasonedStepOptions): Promise<Verdict<SameTexts<M>>>;
    /** Memories were fetched, and the model is about to read them (4.4). */
    memoryContextRetrieval<M extends string | readonly string[]>(memory: M, options?: ReasonedStepOptions): Promise<Verdict<SameTexts<M>>>;
    /** A tool is about to be called (4.6). Its result answers the verdict's `executionId`. `guarded` does this and the rest. */
    toolCallRequest<I extends object>(tool: string, inputs: I, options?: ToolCallOptions): Promise<Verdict<I>>;
    /** A tool has ended, and the model is about to read its output (4.6): one text, or several. */
    toolCallResult<O extends string | readonly string[]>(executionId: string, outputs: O, options?: ToolResultOptions): Promise<Verdict<SameTexts<O>>>;
    /** An A2A message, before it is sent or after it was received (4.7). */
    a2a<M extends object>(message: M, options?: ReasonedStepOptions): Promise<Verdict<M>>;
    /** An MCP message, before it is sent or after it was received (4.8). */
    mcp<M extends object>(message: M, options?: ReasonedStepOptions): Promise<Verdict<M>>;
}
export type { Session, Turn };
/** The form in which content is given back: a text for a text, parts for parts. */
export type Same<C extends Content> = C extends string ? string : Part[];
/** The form in which texts are given back: one for one, a list for a list. */
export type SameTexts<T extends string | readonly string[]> = T extends string ? string : string[];
