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
// The errors.
/** The step must not happen. Denied, Unreachable and GuardianError are the reasons there are. */
export class NotAllowed extends Error {
    /** Which step, as AOS names it. With steps/toolCallResult a guarded tool has run, and its result is withheld. */
    method = "";
}
/** The guardian said no. The error's message says why and what to do instead, so that a model can read it. */
export class Denied extends NotAllowed {
    name = "Denied";
    verdict;
    /** The stable codes of the rules that applied. */
    reasons;
    /** What the agent could do instead. */
    instead;
    /** The place of the decision in the guardian's ledger. */
    decisionId;
    /** What people were asked about this act, if they were. */
    approval;
    /** Not denied for good: a person must agree first. The same act may be tried again later. */
    pending;
    constructor(verdict, message = verdict.message) {
        super([message, ...(verdict.instead.length > 0 ? ["Instead:", ...verdict.instead] : [])].join(" "));
        this.verdict = verdict;
        this.method = verdict.method;
        this.reasons = verdict.reasons;
        this.instead = verdict.instead;
        this.decisionId = verdict.decisionId;
        this.approval = verdict.approval;
        this.pending = verdict.pending;
    }
}
/** The guardian did not answer: it is down, too slow, or behind a gateway that cannot reach it. */
export class Unreachable extends NotAllowed {
    name = "Unreachable";
}
/** The guardian answered, and it was no verdict: an error, or what no guardian answers. */
export class GuardianError extends NotAllowed {
    name = "GuardianError";
    /** The JSON-RPC error's code; undefined when there was none. */
    code;
    /** The HTTP status. */
    status;
    /** The JSON-RPC error's data. Of an invalid request: field, reason and expected. */
    data;
    constructor(message, details = {}) {
        super(message);
        this.code = details.code;
        this.status = details.status;
        this.data = details.data;
    }
}
/** A tool threw an error, and the guardian changed its text. This is what is left of it: it has no cause, which would show what was taken out. */
export class ToolFailed extends Error {
    name = "ToolFailed";
}
// The client.
/** A guardian, and the agent that asks it. It can be used for any number of sessions at once. */
export class Guardian {
    /** The agent, as the guardian is told of it. */
    agent;
    #wire;
    #current;
    constructor(options) {
        const agent = typeof options.agent === "string" ? { id: options.agent } : options.agent;
        const { id = agent?.name, name = id } = agent ?? {};
        if (typeof id !== "string" || id === "") {
            throw new TypeError('the agent needs an id or a name, such as { id: "helper" }');
        }
        // What the standard requires and the caller leaves out is said to be empty, not made up.
        const provider = { name: "", url: "", ...defined(agent.provider ?? {}) };
        this.agent = plain({ instructions: "", version: "0", ...defined(agent), id, name, provider }, "agent");
        this.#wire = new Wire(options, id);
    }
    /** A session: one conversation or task, of one user. Nothing is asked yet, and nothing needs to be closed. */
    session(options = {}) {
        return new Session(this, this.#wire, options, (turn, body) => this.#run(turn, body));
    }
    /**
     * Guards a tool: each call is asked about, made with the inputs that the verdict gives, and its
     * result is reported and replaced by what the verdict leaves of it. The call belongs to the turn
     * whose `run` it happens in. Where there is no AsyncLocalStorage (in a browser), `options.turn`
     * must find it among the call's arguments; `turn.guarded` needs neither.
     */
    guarded(tool, options = {}) {
        return guard(tool, options, (...args) => {
            const turn = options.turn === undefined ? this.openTurn : options.turn(...args);
            if (turn === undefined) {
                throw new Error("a guarded tool was called outside of a turn: call it in turn.run(…), give options.turn, or use turn.guarded");
            }
            return turn;
        });
    }
    /** The turn in whose `run` this is called; undefined outside of one, and where nothing can tell. */
    get openTurn() {
        return this.#current?.getStore();
    }
    /** Asks whether the guardian is there and able to record (4.9). */
    async ping(options = {}) {
        return this.#wire.ping([options.signal]);
    }
    /** Runs a body within a turn, where the platform can tell what belongs to it. */
    async #run(turn, body) {
        const AsyncLocalStorage = await asyncLocalStorage();
        if (AsyncLocalStorage !== undefined) {
            this.#current ??= new AsyncLocalStorage();
        }
        return await (this.#current === undefined ? body() : this.#current.run(turn, body));
    }
}
/** One conversation or task. {@link Guardian.session} makes it. */
class Session {
    id;
    guardian;
    #wire;
    #context;
    #run;
    /** @internal */
    constructor(guardian, wire, options, run) {
        const { agent } = guardian;
        this.id = idOf(options.id, "session");
        this.guardian = guardian;
        this.#wire = wire;
        this.#run = run;
        this.#context = { agent, session: plain({ id: this.id, metadata: options.metadata }, "session") };
        if (options.user !== undefined) {
            const user = typeof options.user === "string" ? { id: options.user } : options.user;
            this.#context["user"] = plain({ organization: agent["organization"] ?? { id: "" }, ...defined(user) }, "user");
        }
    }
    /** The name of the agent that acts in it. */
    get agent() {
        return this.#context["agent"]["name"];
    }
    /** The session of an agent that this one starts or hands over to. Labels of what it reads are this session's, too. */
    below(agent) {
        const own = this.#context["session"];
        const metadata = { ...own["metadata"], parent: this.id };
        const session = new Session(this.guardian, this.#wire, { id: `${this.id}/${agent}`, metadata }, this.#run);
        session.#context["agent"] = { ...this.#context["agent"], name: agent };
        if (this.#context["user"] !== undefined) {
            session.#context["user"] = this.#context["user"];
        }
        return session;
    }
    /** A turn: what happens between a prompt, or an event, and the answer to it. */
    turn(options = {}) {
        return new Turn(this.#wire, this, this.#context, options, this.#run);
    }
}
/** One turn of a session, with a method for each step of AOS. {@link Session.turn} makes it. */
class Turn {
    id;
    session;
    #wire;
    #context;
    #signal;
    #run;
    /** @internal */
    constructor(wire, session, context, options, run) {
        this.id = idOf(options.id, "turn");
        this.session = session;
        this.#wire = wire;
        this.#context = context;
        this.#signal = options.signal;
        this.#run = run;
    }
    /** Runs a body, in which `guardian.guarded` tools belong to this turn, and gives its result. */
    run(body) {
        return this.#run(this, () => body(this));
    }
    /**
     * One guarded call of a tool that is known by its name and inputs: asks, runs it with the inputs
     * that the guardian left, reports what it gave, and returns what was left of that.
     */
    call(tool, inputs, run, options = {}) {
        return call(this, tool, inputs, run, options.reading ?? reading, options.waitForApproval);
    }
    /**
     * The agent's answer, as far as the user may read it: sentence by sentence, each judged with what stands before
     * it, and the whole at its end. A text without an end of a sentence is judged when it is `within` milliseconds old
     * (1000), or 1000 characters long (4000 where it has no gap to be cut at). Denied is thrown where it may not go on; so it is when
     * the guardian would change what has been read already.
     */
    async *stream(tokens, options = {}) {
        const within = timeOf(options.within ?? 1000, "within");
        let read = "";
        let rest = "";
        let since = 0;
        const unread = ({ content, ...verdict }, before) => {
            if (!content.startsWith(before)) {
                throw new Denied({ ...verdict, content, decision: "deny" }, verdict.message || "What follows may not be read behind what stands before it.");
            }
            const unread = content.slice(before.length);
            read += unread;
            return unread;
        };
        const source = Symbol.asyncIterator in tokens ? tokens[Symbol.asyncIterator]() : tokens[Symbol.iterator]();
        let waiting;
        try {
            for (;;) {
                waiting ??= Promise.resolve(source.next());
                const next = await inTime(waiting, rest === "" || since === Infinity ? undefined : since + within - performance.now());
                let end = 0;
                if (next !== undefined) {
                    waiting = undefined;
                    if (next.done === true) {
                        break;
                    }
                    if (rest === "" || since === Infinity) {
                        since = performance.now();
                    }
                    rest += next.value;
                    end = lastEnd(rest, sentence);
                }
                if (end === 0 && (next === undefined || rest.length >= 1000 || performance.now() - since >= within)) {
                    end = lastEnd(rest, gap);
                    if (end === 0) {
                        since = Infinity; // until another token comes
                        end = rest.length < 4000 ? 0 : rest.replace(/[0-9 \-./]+$/, "").length || rest.length; // what has no gaps at all
                    }
                }
                if (end > 0) {
                    // What is forbidden may lie across two pieces.
                    const from = read.length - 500;
                    const before = from > 0 ? read.slice(from + firstEnd(read.slice(from), gap)) : read;
                    const piece = rest.slice(0, end);
                    rest = rest.slice(end);
                    since = performance.now();
                    yield unread((await this.agentMessage(before + piece)), before);
                }
            }
        }
        finally {
            // Who reads no more: the source hears of it, when it has given what it was asked for.
            waiting?.catch(() => { });
            Promise.resolve(source.return?.()).catch(() => { });
        }
        if (read + rest !== "") {
            yield unread((await this.agentMessage(read + rest)), read);
        }
    }
    /**
     * The same turn of an agent that this one starts or hands over to. It is told as a session below
     * this one, with a name of its own; undefined and the guardian's own name are this agent.
     */
    of(agent) {
        const { id, name } = this.session.guardian.agent;
        const own = agent === undefined || agent === "" || agent === id || agent === name || agent === this.session.agent;
        return own ? this : this.session.below(agent).turn({ id: this.id, signal: this.#signal });
    }
    /** Guards a tool, as {@link Guardian.guarded} does; its calls belong to this turn. */
    guarded(tool, options = {}) {
        return guard(tool, options, () => this);
    }
    /** An event wakes the agent (4.1). The type is the event's, such as "email"; `id` is its id, such as the mail's. */
    async agentTrigger(type, content, options = {}) {
        const parts = partsOf(content);
        const trigger = { type: "autonomous", event: { type, id: idOf(options.id, "event") }, content: parts, metadata: options.metadata };
        return this.#ask("steps/agentTrigger", { trigger }, options, (params) => contentIn(member(params, "trigger"), content, parts));
    }
    /** The user said something, and the agent is about to read it (4.5). */
    userMessage(content, options = {}) {
        return this.#message("user", content, options);
    }
    /** The agent answers, and the user is about to read it (4.5). */
    agentMessage(content, options = {}) {
        return this.#message("agent", content, options);
    }
    /** The system says something, such as a guardrail, and the user is about to read it (4.5). */
    systemMessage(content, options = {}) {
        return this.#message("system", content, options);
    }
    async #message(role, content, options) {
        const parts = partsOf(content);
        const message = { id: idOf(options.id, "message"), role, content: parts, metadata: options.metadata };
        const params = { message, citation: options.citation ?? [], reasoning: options.reasoning };
        return this.#ask("steps/message", params, options, (params) => contentIn(member(params, "message"), content, parts));
    }
    /** Knowledge was retrieved, and the model is about to read it (4.2). */
    async knowledgeRetrieval(results, options = {}) {
        const step = { query: options.query, keywords: options.keywords, results };
        const { length } = results;
        return this.#ask("steps/knowledgeRetrieval", { knowledgeStep: step, reasoning: options.reasoning }, options, (params) => {
            const found = member(params, "knowledgeStep");
            for (const result of list(found, "results", length)) {
                text(result, "id");
                text(result, "content");
            }
            return found;
        });
    }
    /** Memories are about to be stored (4.3). What has structure is given as JSON text. */
    memoryStore(memory, options = {}) {
        return this.#memory("steps/memoryStore", memory, options);
    }
    /** Memories were fetched, and the model is about to read them (4.4). */
    memoryContextRetrieval(memory, options = {}) {
        return this.#memory("steps/memoryContextRetrieval", memory, options);
    }
    async #memory(method, memory, options) {
        const texts = typeof memory === "string" ? [memory] : memory;
        const { length } = texts;
        return this.#ask(method, { memory: texts, reasoning: options.reasoning }, options, (params) => sameTexts(list(params, "memory", length), memory));
    }
    /** A tool is about to be called (4.6). Its result answers the verdict's `executionId`. `guarded` does this and the rest. */
    toolCallRequest(tool, inputs, options = {}) {
        return Turn.request(this, tool, inputs, options, undefined);
    }
    /** A tool has ended, and the model is about to read its output (4.6): one text, or several. */
    toolCallResult(executionId, outputs, options = {}) {
        return this.#result(executionId, outputs, options, undefined, [this.#signal, options.signal]);
    }
    /** An A2A message, before it is sent or after it was received (4.7). */
    a2a(message, options = {}) {
        return this.#protocol("protocols/A2A", message, options);
    }
    /** An MCP message, before it is sent or after it was received (4.8). */
    mcp(message, options = {}) {
        return this.#protocol("protocols/MCP", message, options);
    }
    async #protocol(method, message, options) {
        const { id } = message;
        return this.#ask(method, { message, reasoning: options.reasoning }, options, (params) => {
            const judged = member(params, "message");
            if (judged["id"] !== id) {
                throw new Unusable("it is another message");
            }
            return judged;
        });
    }
    async #result(executionId, outputs, options, waitForApproval, signals) {
        const texts = typeof outputs === "string" ? [outputs] : outputs;
        const parts = texts.map((text) => ({ kind: "text", text }));
        const result = { outputs: parts, isError: options.isError ?? false };
        const read = (params) => {
            if (params["executionId"] !== executionId) {
                throw new Unusable("it is the result of another call");
            }
            return sameTexts(list(member(params, "result"), "outputs", parts.length).map(textPart), outputs);
        };
        return this.#ask("steps/toolCallResult", { executionId, result }, options, read, executionId, waitForApproval, signals);
    }
    /** @internal Asks about a tool's call, and waits for people as long as the tool says. */
    static async request(turn, tool, inputs, options, waitForApproval) {
        const executionId = idOf(options.executionId, "execution");
        const named = plain(inputs, "the inputs");
        if (!isObject(named)) {
            throw new TypeError("a tool's inputs are an object that names them");
        }
        const names = Object.keys(named);
        const call = { executionId, toolId: tool, inputs: Object.entries(named).map(([name, value]) => ({ name, value })) };
        const read = (params) => {
            const call = member(params, "toolCallRequest");
            if (call["toolId"] !== tool || call["executionId"] !== executionId) {
                throw new Unusable("it is another call");
            }
            const values = list(call, "inputs", names.length).map((input, i) => {
                const name = text(input, "name");
                const { value } = input;
                if (name !== names[i] || value === undefined) {
                    throw new Unusable("it has other inputs");
                }
                return [name, value];
            });
            return Object.fromEntries(values);
        };
        return turn.#ask("steps/toolCallRequest", { toolCallRequest: call, reasoning: options.reasoning }, options, read, executionId, waitForApproval);
    }
    /** @internal Reports a result whatever signals say: the tool did run, and that belongs into the record. */
    static report(turn, executionId, outputs, isError, waitForApproval) {
        return turn.#result(executionId, outputs, { isError }, waitForApproval, []);
    }
    /** Asks about one step. `read` finds the content in its params, these or modified ones. */
    async #ask(method, params, options, read, executionId = "", waitForApproval = undefined, signals = [this.#signal, options.signal]) {
        const context = { ...this.#context, turnId: this.id, stepId: newId(), timestamp: now() };
        const whole = { context, ...plain(defined(params), "the step") };
        return this.#wire.ask({ method, params: whole, content: read(whole), executionId }, read, waitForApproval, signals);
    }
}
/**
 * Wraps a tool, so that its calls and results are judged in the turn that `turnOf` finds. What it
 * gives in pieces is judged as one, since what is forbidden may lie across them.
 */
function guard(tool, options, turnOf) {
    const name = options.name ?? tool.name;
    if (name === "") {
        throw new TypeError("the tool has no name: give one as options.name");
    }
    const { waitForApproval } = options;
    return async (...args) => {
        const turn = turnOf(...args);
        const [inputs = {}, ...rest] = args;
        if (typeof inputs !== "object" || inputs === null) {
            throw new TypeError(`the guarded tool ${name} takes its arguments by their names, as one object`);
        }
        // A tool that was called without arguments gets none, unless the policy gives it some.
        const run = (judged) => tool(...(args.length === 0 && Object.keys(judged).length === 0 ? [] : [judged, ...rest]));
        return (await call(turn, name, inputs, run, reading, waitForApproval));
    };
}
/** The one course that every guarded call takes: asked, run, reported. */
async function call(turn, name, inputs, run, { texts, replaced }, waitForApproval) {
    const { executionId, content } = await Turn.request(turn, name, inputs, {}, waitForApproval);
    let output;
    try {
        output = await turn.run(() => run(content)); // an agent that the tool starts finds the turn
        if (isPieces(output)) {
            output = inPieces(await gathered(name, output));
        }
    }
    catch (error) {
        const said = sentenceOf(error);
        const verdict = await Turn.report(turn, executionId, said, true, waitForApproval);
        throw verdict.content === said && (typeof error !== "object" || isError(error)) ? error : new ToolFailed(verdict.content);
    }
    let told;
    try {
        told = texts(output);
    }
    catch (error) {
        // It ran, and what it gave cannot be judged: that is told, and nobody gets it.
        await Turn.report(turn, executionId, String(error), true, waitForApproval);
        throw error;
    }
    const verdict = await Turn.report(turn, executionId, told, false, waitForApproval);
    if (verdict.content.every((text, i) => text === told[i])) {
        return typeof output === "object" && output !== null && texts === reading.texts ? replaced(output, told) : output;
    }
    try {
        return replaced(output, verdict.content);
    }
    catch {
        // The guardian put a notice in the output's place. As a text it would be no output of this tool.
        throw new Denied({ ...verdict, decision: "deny" }, [verdict.message, ...verdict.content].join(" "));
    }
}
/**
 * What a tool threw, as a text. Frameworks let a model read the message of an error, and all that is in another
 * object, whatever the toString of either says. Only an error goes on as it is: an object could say more later.
 */
function sentenceOf(error) {
    try {
        if (isError(error)) {
            return Error.prototype.toString.call(error);
        }
        return (typeof error === "object" ? JSON.stringify(error) : String(error)) ?? "The tool failed.";
    }
    catch {
        return "The tool failed, with something that is no error.";
    }
}
/** Whether it is an error, perhaps of another realm. */
function isError(value) {
    return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
}
/** How outputs are read that are strings or plain JSON. The caller gets a copy: what was judged. */
const reading = {
    texts(output) {
        if (output === undefined) {
            return [];
        }
        if (output instanceof Pieces) {
            return [output.text];
        }
        return [typeof output === "string" ? output : JSON.stringify(plain(output, "the tool's output"))];
    },
    replaced(output, texts) {
        if (output instanceof Pieces) {
            return output.replaced(texts[0]);
        }
        return output === undefined || typeof output === "string" ? texts[0] : JSON.parse(texts[0]);
    },
};
/** What a tool gave in pieces, read to its end. */
class Pieces {
    text;
    #pieces;
    constructor(pieces) {
        this.#pieces = pieces;
        this.text = pieces.every((piece) => typeof piece === "string") ? pieces.join("") : JSON.stringify(pieces);
    }
    /** The pieces again, or what is left of them. */
    replaced(text) {
        const left = text === this.text ? this.#pieces : this.#pieces.every((piece) => typeof piece === "string") ? [text] : JSON.parse(text);
        return (async function* () {
            yield* left;
        })();
    }
}
function isPieces(output) {
    return typeof output === "object" && output !== null && Symbol.asyncIterator in output;
}
function inPieces(pieces) {
    return new Pieces(pieces);
}
/** Reads what a tool gives in pieces, as much as can be judged. */
async function gathered(name, output) {
    const pieces = [];
    let size = 0;
    for await (const piece of output) {
        const copy = plain(piece, "the tool's output");
        size += (typeof copy === "string" ? copy : JSON.stringify(copy)).length + 1;
        if (size > maxPieces) {
            throw new RangeError(`${name} gives more than can be judged`);
        }
        pieces.push(copy);
    }
    return pieces;
}
/** The most that a tool may give in pieces, in UTF-16 units: no node reads more. */
const maxPieces = 4 << 20;
/** Where a sentence ends. */
const sentence = /[.!?…]["')\]]*\s+(?!\d)|[。！？]|\n+/g;
/** Where a text may be cut: not between digits, since what is to be masked may go on behind the gap. */
const gap = /(?<=\D)\s+(?=\D)/g;
function lastEnd(text, where) {
    let end = 0;
    for (const match of text.matchAll(where)) {
        end = match.index + match[0].length;
    }
    return end;
}
/** What comes, unless the time is over before; without a time it is waited for. */
async function inTime(coming, milliseconds) {
    if (milliseconds === undefined) {
        return coming;
    }
    let timer;
    const over = new Promise((resolve) => (timer = setTimeout(() => resolve(undefined), Math.max(0, milliseconds))));
    try {
        return await Promise.race([coming, over]);
    }
    finally {
        clearTimeout(timer);
    }
}
function firstEnd(text, where) {
    for (const match of text.matchAll(where)) {
        return match.index + match[0].length;
    }
    return 0;
}
// How a guardian is asked.
/** The largest answer that is read. It is at most the request and a little, and a request has at most 4 MiB by default. */
const maxAnswer = 16 << 20;
/** The longest time that timers know, about 24 days. */
const maxTime = 2 ** 31 - 1;
/** How long a guardian that did not judge a step has to show that it is alive. */
const aliveTime = 2000;
/** Sends requests, and checks the answers. */
class Wire {
    #url;
    #shown; // the address in errors: a query may hold a secret
    #key;
    #timeout;
    #retries;
    #waitForApproval;
    #onUnreachable;
    #fetch;
    #agent;
    #foreign; // a browser asks, and from a page of another site
    #warned = false;
    constructor(options, agent) {
        this.#agent = agent;
        const environment = nodeProcess()?.env ?? {};
        this.#url = urlOf(options.url ?? (environment["REEVE_URL"] || "http://127.0.0.1:8080/aos"));
        this.#shown = this.#url.replace(/\?.*/s, "");
        const { location } = globalThis;
        this.#foreign = location !== undefined && location.origin !== new URL(this.#url).origin;
        this.#key = options.key ?? environment["REEVE_KEY"] ?? "";
        if (!/^[\x21-\x7e]*$/.test(this.#key)) {
            throw new TypeError("the key holds a character that no credential has, such as a space or the end of a line");
        }
        this.#timeout = timeOf(options.timeout ?? 5000, "timeout");
        if (this.#timeout === 0) {
            throw new RangeError("timeout is more than 0");
        }
        this.#waitForApproval = timeOf(options.waitForApproval ?? 0, "waitForApproval");
        this.#retries = options.retries ?? 2;
        if (!Number.isInteger(this.#retries) || this.#retries < 0) {
            throw new RangeError("retries is a whole number, 0 or more");
        }
        this.#onUnreachable = options.onUnreachable ?? "deny";
        if (this.#onUnreachable !== "deny" && this.#onUnreachable !== "allow" && typeof this.#onUnreachable !== "function") {
            throw new TypeError('onUnreachable is "deny", "allow" or a function');
        }
        this.#fetch = options.fetch;
    }
    /** Asks until there is a verdict to obey; that of a held act is waited for. */
    async ask(step, read, waitForApproval, signals) {
        const until = performance.now() + (waitForApproval === undefined ? this.#waitForApproval : timeOf(waitForApproval, "waitForApproval"));
        try {
            let verdict;
            try {
                verdict = await this.#judge(step, read, until, signals);
            }
            catch (error) {
                if (!(error instanceof Unreachable) || this.#onUnreachable === "deny" || this.#hidden(error) || (await this.#alive(signals))) {
                    throw error;
                }
                return await this.#unjudged(step, error);
            }
            for (let pause = 250; verdict.pending && performance.now() < until; pause = Math.min(pause * 1.5, 2000)) {
                await sleep(Math.max(0, Math.min(pause, until - performance.now())), signals);
                try {
                    verdict = await this.#judge(step, read, until, signals);
                }
                catch (error) {
                    if (!(error instanceof Unreachable)) {
                        throw error;
                    } // it is still held, whatever onUnreachable says
                }
            }
            if (verdict.decision === "deny") {
                throw new Denied(verdict);
            }
            return verdict;
        }
        catch (error) {
            if (error instanceof NotAllowed) {
                error.method = step.method;
            }
            throw error;
        }
    }
    /** Asks for the verdict. Asking again with the same step is a repeat, however late. */
    async #judge(step, read, until, signals) {
        const context = { ...step.params["context"], timestamp: now() };
        // The guardian may keep the answer back while it asks people, for as long as we would wait.
        const limit = Math.min(Math.max(this.#timeout, until - performance.now()), maxTime);
        const reply = await this.#call(step.method, { ...step.params, context }, context["stepId"], limit, this.#retries, signals);
        return verdictOf(step, read, reply);
    }
    /** Asks how the guardian is. */
    async ping(signals) {
        const { result } = await this.#call("ping", { timestamp: now() }, newId(), this.#timeout, this.#retries, signals);
        const { status, version, timestamp, metadata } = result;
        if (status !== "connected" && status !== "error") {
            throw new GuardianError("the guardian's status is neither connected nor error");
        }
        return { status, version: textOr(version), timestamp: textOr(timestamp), metadata: isObject(metadata) ? metadata : {} };
    }
    /**
     * Whether a guardian that did not judge a step answers at all. If it does, it is not away: else
     * what is hard to judge, or waits for a person, would pass.
     */
    async #alive(signals) {
        try {
            await this.#call("ping", { timestamp: now() }, newId(), Math.min(this.#timeout, aliveTime), 0, signals);
        }
        catch (error) {
            if (error instanceof Unreachable) {
                return this.#hidden(error);
            }
            if (!(error instanceof GuardianError)) {
                throw error;
            }
        }
        return true;
    }
    /** Whether an answer may have come, and been kept from us: of another site a browser tells nobody why a request failed. */
    #hidden(error) {
        return this.#foreign && error.cause !== undefined;
    }
    /** What onUnreachable makes of a step that nobody judged. */
    async #unjudged(step, error) {
        error.method = step.method;
        const choice = typeof this.#onUnreachable === "function" ? await this.#onUnreachable(step, error) : this.#onUnreachable;
        if (choice !== "allow") {
            throw error;
        }
        if (!this.#warned) {
            this.#warned = true;
            console.warn(`reeve-aos: the agent ${this.#agent} goes on unguarded: ${error.message}`);
        }
        return { ...step, ...saidIn({ decision: "allow", message: "" }), decision: "allow", raw: {}, unreachable: error };
    }
    /** Makes one JSON-RPC call, with retries, within a time limit. */
    async #call(method, params, id, limit, retries, signals) {
        // Every attempt sends these very bytes: by their ids the guardian knows the act again.
        const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
        const end = performance.now() + limit;
        const stop = stopper(limit, signals);
        try {
            for (let attempt = 0, pause = 100;; attempt++, pause *= 4) {
                await stop.race(Promise.resolve()); // nothing is sent after the end
                const outcome = await stop.race(this.#attempt(method, id, body, stop.signal));
                if ("result" in outcome) {
                    return outcome;
                }
                const wait = Math.max(pause, outcome.after ?? 0);
                if (attempt >= retries || performance.now() + wait >= end) {
                    throw outcome.error;
                }
                await stop.race(new Promise((resolve) => stop.later(resolve, wait)));
            }
        }
        catch (error) {
            throw error === stop.late ? new Unreachable(`the guardian at ${this.#shown} cannot be reached: no answer within the time limit`) : error;
        }
        finally {
            stop.done();
        }
    }
    /** Sends a request once. What is thrown is final. */
    async #attempt(method, id, body, signal) {
        const headers = { "Content-Type": "application/json", Accept: "application/json" };
        if (this.#key !== "") {
            headers["Authorization"] = `Bearer ${this.#key}`;
        }
        const fetch = this.#fetch ?? globalThis.fetch;
        let response;
        let answer;
        try {
            // A redirect would carry the key, and what the agent does, to somebody else.
            response = await fetch(this.#url, { method: "POST", headers, body, redirect: "manual", signal });
            answer = await readBounded(response);
        }
        catch (error) {
            const why = causeOf(error);
            if (typeof why.code === "string" && !lost.test(why.code)) {
                throw new GuardianError(`the guardian at ${this.#shown} cannot be trusted, or does not speak HTTP: ${why.code}`);
            }
            return { error: new Unreachable(`the guardian at ${this.#shown} cannot be reached: ${why.text}`, { cause: error }) };
        }
        const { status } = response;
        if (response.type === "opaqueredirect" || (status >= 300 && status <= 399)) {
            throw new GuardianError(`the guardian at ${this.#shown} answered with a redirect, which is not followed`, { status });
        }
        if (answer === undefined) {
            throw new GuardianError(`the guardian's answer to ${method} is larger than ${maxAnswer} bytes, or no UTF-8`, { status });
        }
        const message = parsed(answer);
        const said = isObject(message) && isObject(message["error"]) && !("result" in message) ? this.#said(method, message["error"], status) : undefined;
        if (status !== 200 || said !== undefined) {
            // A gateway says that nobody is behind it; a guardian that speaks for itself is there.
            const text = `the guardian at ${this.#shown} answered ${method} with the HTTP status ${status}`;
            const error = said ?? ([502, 503, 504].includes(status) ? new Unreachable(text) : new GuardianError(text, { status }));
            if ([429, 500, 502, 503, 504].includes(status) || (status === 200 && said?.code === -32603)) {
                return { error, after: retryAfter(response.headers.get("Retry-After")) };
            }
            throw error;
        }
        const invalid = (reason) => new GuardianError(`the guardian's answer to ${method} ${reason}`, { status });
        if (!isObject(message) || message["jsonrpc"] !== "2.0" || "error" in message || !isObject(message["result"])) {
            throw invalid("is not a JSON-RPC 2.0 answer");
        }
        if (message["id"] !== id) {
            throw invalid("has another id than the request");
        }
        return { result: message["result"], json: answer };
    }
    /** The error that a guardian answered. */
    #said(method, error, status) {
        const { code, data } = error;
        if (typeof code !== "number" || !Number.isInteger(code) || typeof error["message"] !== "string") {
            return undefined;
        }
        const details = isObject(data) ? [data["field"], data["reason"]].filter((s) => typeof s === "string" && s !== "") : [];
        const sentence = [`the guardian answered ${method} with error ${code}`, error["message"], ...details].join(": ");
        // Whoever answers knows the key, and might tell it to the log that this error ends in.
        return this.#key !== "" && JSON.stringify(error).includes(this.#key)
            ? new GuardianError(`the guardian answered ${method} with error ${code}, and the key in it`, { code, status })
            : new GuardianError(sentence.slice(0, 2000), { code, status, data });
    }
}
/** Reads an answer. One that is not exactly a verdict is no verdict. */
function verdictOf(step, read, { result: raw, json }) {
    const { decision } = raw;
    const modified = raw["modifiedRequest"] ?? undefined;
    try {
        if ((decision !== "allow" && decision !== "deny" && decision !== "modify") || (decision === "modify") !== (modified !== undefined)) {
            throw new Unusable("it decides neither allow, deny nor modify");
        }
        let { params, content } = step;
        if (modified !== undefined) {
            const { stepId } = params["context"];
            if (!isObject(modified) || modified["jsonrpc"] !== "2.0" || modified["method"] !== step.method || modified["id"] !== stepId) {
                throw new Unusable("its modified request is another one");
            }
            if (!isExact(json)) {
                throw new Unusable("it has a number that JavaScript cannot hold exactly");
            }
            params = member(modified, "params");
            content = read(params);
        }
        return { ...step, ...saidIn(raw), decision, params, content, raw, unreachable: undefined };
    }
    catch (error) {
        if (error instanceof Unusable) {
            throw new GuardianError(`the guardian's answer to ${step.method} is not a verdict: ${error.message}`);
        }
        throw error;
    }
}
/** What an answer says beside its decision. What is there must be of its type. */
function saidIn(raw) {
    const data = raw["data"] === undefined ? {} : member(raw, "data");
    const texts = (holder, name) => (holder[name] === undefined ? [] : list(holder, name).map((value) => text({ value }, "value")));
    const asked = data["approval"] === undefined ? undefined : member(data, "approval");
    const approval = asked && { id: text(asked, "id"), state: text(asked, "state"), expiresAt: text(asked, "expires_at") };
    return {
        message: text(raw, "message"),
        reasoning: textOr(raw["reasoning"]),
        reasons: texts(raw, "reasonCode"),
        data,
        decisionId: textOr(data["decision_id"]),
        instead: texts(data, "instead"),
        conditions: texts(data, "conditions"),
        repeat: data["repeat"] === true,
        approval,
        pending: raw["decision"] === "deny" && approval?.state === "held",
    };
}
/** Ends what is waited for: after a time, or when a signal says so. */
function stopper(limit, signals) {
    const controller = new AbortController();
    const late = new Error("late");
    const timers = new Set();
    let end = () => { };
    const ended = new Promise((_, reject) => {
        end = (reason) => {
            reject(reason);
            controller.abort();
        };
    });
    ended.catch(() => { }); // which is nobody's business unless somebody races against it
    const later = (then, wait) => void timers.add(setTimeout(then, wait));
    const listeners = signals.map((signal) => () => end(signal?.reason));
    signals.forEach((signal, i) => {
        if (signal?.aborted) {
            end(signal.reason);
        }
        signal?.addEventListener("abort", listeners[i]);
    });
    later(() => end(late), limit);
    return {
        late,
        signal: controller.signal,
        later,
        /** The promise's outcome, unless the end comes first: a fetch may be deaf to its signal. */
        race: (promise) => Promise.race([ended, promise]),
        done() {
            timers.forEach((timer) => clearTimeout(timer));
            signals.forEach((signal, i) => signal?.removeEventListener("abort", listeners[i]));
            controller.abort(); // an answer that is still being read is of no use any more
        },
    };
}
/** Waits, unless a signal ends it. */
async function sleep(wait, signals) {
    const stop = stopper(wait, signals);
    try {
        await stop.race(new Promise(() => { }));
    }
    catch (error) {
        if (error !== stop.late) {
            throw error;
        }
    }
    finally {
        stop.done();
    }
}
/** The answer's text; undefined when it is too large or no UTF-8. */
async function readBounded(response) {
    if (response.body === null) {
        return "";
    }
    const reader = response.body.getReader();
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let text = "";
    for (let size = 0;;) {
        const { done, value } = await reader.read();
        size += value?.byteLength ?? 0;
        try {
            if (size > maxAnswer) {
                throw new RangeError();
            }
            text += decoder.decode(value, { stream: !done });
        }
        catch {
            reader.cancel().catch(() => { });
            return undefined;
        }
        if (done) {
            return text;
        }
    }
}
/** A JSON text's value; undefined when it is none, or has a member twice. */
function parsed(json) {
    try {
        const value = JSON.parse(json);
        return isUnique(json) ? value : undefined;
    }
    catch {
        return undefined;
    }
}
/**
 * Reports whether no object in a JSON text has a member twice. JSON.parse takes the last of them,
 * and somebody between the guardian and us may have taken the first.
 */
function isUnique(json) {
    const open = []; // the names in each open object; of an array there are none
    const colon = /\s*:/y;
    for (let i = 0; i < json.length; i++) {
        const c = json[i];
        if (c === "{") {
            open.push(new Set());
        }
        else if (c === "[") {
            open.push(undefined);
        }
        else if (c === "}" || c === "]") {
            open.pop();
        }
        else if (c === '"') {
            const start = i;
            i = stringEnd(json, i);
            colon.lastIndex = i + 1;
            if (colon.test(json)) {
                const names = open[open.length - 1];
                const name = JSON.parse(json.slice(start, i + 1));
                if (names.has(name)) {
                    return false;
                }
                names.add(name);
            }
        }
    }
    return true;
}
/** Where the string that begins at i ends. */
function stringEnd(json, i) {
    for (i++; json[i] !== '"'; i++) {
        if (json[i] === "\\") {
            i++;
        }
    }
    return i;
}
/**
 * Reports whether every whole number in a JSON text is what JSON.parse makes of it. One that a
 * policy wrote may be larger than JavaScript can count, and its neighbour must not be used instead.
 */
function isExact(json) {
    const number = /-?\d[\d.eE+-]*/y;
    for (let i = 0; i < json.length; i++) {
        const c = json[i];
        if (c === '"') {
            i = stringEnd(json, i);
        }
        else if (c === "-" || (c >= "0" && c <= "9")) {
            number.lastIndex = i;
            const token = number.exec(json)[0];
            if (token.length > 15 && /^-?\d+$/.test(token) && String(Number(token)) !== token) {
                return false;
            }
            i += token.length - 1;
        }
    }
    return true;
}
/** What a Retry-After header says, in milliseconds. */
function retryAfter(header) {
    if (header === null) {
        return undefined;
    }
    const wait = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
    return Number.isNaN(wait) ? undefined : Math.max(wait, 0);
}
/**
 * Node's codes for an answer that did not come. Its other codes mean that one came, and was none of
 * a guardian: a certificate that nobody vouches for, or what is not HTTP.
 */
const lost = /^(E(?!PROTO$)[A-Z0-9]+|EAI_\w+|UND_ERR_(SOCKET|ABORTED|CLOSED|DESTROYED|\w+_TIMEOUT|RES_CONTENT_LENGTH_MISMATCH)|HPE_INVALID_EOF_STATE)$/;
/** Why a fetch failed: undici says only "fetch failed", and keeps the reason as the cause. */
function causeOf(error) {
    const { cause, message } = (error ?? {});
    const said = [cause?.code, cause?.message, message].find((s) => typeof s === "string" && s !== "");
    return { code: cause?.code, text: said ?? String(error) };
}
// Small things that the rest is made of.
/** The guardian's answer is none that the step can be taken with. */
class Unusable extends Error {
}
function isObject(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
function member(holder, name) {
    const value = holder[name];
    if (!isObject(value)) {
        throw new Unusable(`it has no ${name}`);
    }
    return value;
}
/** A list, as long as the one that was sent. */
function list(holder, name, length) {
    const value = holder[name];
    if (!Array.isArray(value) || (length !== undefined && value.length !== length)) {
        throw new Unusable(`it has no list of ${length ?? "texts as"} ${name}`);
    }
    return value;
}
function text(holder, name) {
    const value = isObject(holder) ? holder[name] : undefined;
    if (typeof value !== "string") {
        throw new Unusable(`it has no text as ${name}`);
    }
    return value;
}
function textOr(value) {
    return typeof value === "string" ? value : "";
}
/** The text of a part that is one. */
function textPart(part) {
    if (text(part, "kind") !== "text") {
        throw new Unusable("it has other kinds of content");
    }
    return text(part, "text");
}
/** The parts of content, copied: they must not change while the guardian is asked. */
function partsOf(content) {
    return plain(typeof content === "string" ? [{ kind: "text", text: content }] : content, "the content");
}
/** The content that a message or trigger holds, in the form in which it was given. */
function contentIn(holder, given, sent) {
    const parts = list(holder, "content", sent.length);
    if (!parts.every((part, i) => text(part, "kind") === sent[i]?.kind)) {
        throw new Unusable("it has other kinds of content");
    }
    return (typeof given === "string" ? textPart(parts[0]) : parts);
}
/** Texts in the form in which they were given. */
function sameTexts(texts, given) {
    if (!texts.every((s) => typeof s === "string")) {
        throw new Unusable("it has something that is no text");
    }
    return (typeof given === "string" ? texts[0] : texts);
}
/** An object without the members that are undefined. */
function defined(value) {
    return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined));
}
/** How deep values may be nested. */
const maxDepth = 500;
/**
 * A copy of a value that is exactly what its JSON says. What is judged is this copy, and what is
 * done is, too: a Map, whose JSON is {}, or an object that changes while the guardian is asked,
 * would carry something past it.
 */
function plain(value, at, depth = 0) {
    if (depth > maxDepth) {
        throw new TypeError(`${at.slice(0, 100)}… is nested too deep, or contains itself`);
    }
    if (value === null || typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) {
        return value;
    }
    if (Array.isArray(value)) {
        return Array.from(value, (v, i) => plain(v, `${at}[${i}]`, depth + 1));
    }
    if (typeof value === "object") {
        const prototype = Object.getPrototypeOf(value);
        if (prototype === null || Object.getPrototypeOf(prototype) === null) {
            return Object.fromEntries(Object.entries(defined(value)).map(([name, v]) => [name, plain(v, `${at}.${name}`, depth + 1)]));
        }
    }
    const what = typeof value === "object" ? `a ${value.constructor?.name || "special object"}` : typeof value === "number" ? String(value) : typeof value;
    throw new TypeError(`${at.slice(0, 200)} is ${what}, and not what JSON can say: null, a boolean, a finite number, a string, an array or a plain object`);
}
function idOf(given, what) {
    if (given === "") {
        throw new TypeError(`the ${what}'s id must not be empty`);
    }
    return given ?? newId();
}
function now() {
    return new Date().toISOString();
}
/** A new UUID. */
function newId() {
    const { crypto } = globalThis;
    if (crypto?.randomUUID !== undefined) {
        return crypto.randomUUID();
    }
    if (crypto?.getRandomValues !== undefined) {
        // In pages that were not loaded over HTTPS there is this only.
        const hex = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b, i) => (i === 6 ? (b & 0x0f) | 0x40 : i === 8 ? (b & 0x3f) | 0x80 : b).toString(16).padStart(2, "0")).join("");
        return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    }
    // Node.js 18 has no crypto without an import. The name of a blob ends with a UUID.
    const url = URL.createObjectURL(new Blob([]));
    URL.revokeObjectURL(url);
    return url.slice(-36);
}
function urlOf(text) {
    let url;
    try {
        url = new URL(text);
    }
    catch {
        throw new TypeError("the guardian's url is not one, such as http://127.0.0.1:8080/aos");
    }
    if ((url.protocol !== "http:" && url.protocol !== "https:") || url.username !== "" || url.password !== "" || url.hash !== "") {
        throw new TypeError("the guardian's url begins with http: or https:, and holds no credentials: give them as key");
    }
    return url.href;
}
function timeOf(milliseconds, name) {
    if (!(milliseconds >= 0 && milliseconds <= maxTime)) {
        throw new RangeError(`${name} is a number of milliseconds, from 0 to ${maxTime}`);
    }
    return milliseconds;
}
function nodeProcess() {
    return globalThis.process;
}
let storage;
/**
 * Node's AsyncLocalStorage; undefined where there is none. No import names it, so that browsers
 * and bundlers have nothing to look for; it is loaded when it is first needed, and once.
 */
function asyncLocalStorage() {
    return (storage ??= (async () => {
        const process = nodeProcess();
        if (process?.versions?.node === undefined) {
            return undefined;
        }
        const name = "node:async_hooks";
        try {
            const module = process.getBuiltinModule?.(name) ?? (await import(/* webpackIgnore: true */ /* @vite-ignore */ name));
            return module.AsyncLocalStorage;
        }
        catch {
            return undefined;
        }
    })());
}
