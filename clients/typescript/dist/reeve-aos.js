/**
 * A client for AOS 0.1.0, the Agent Observability Standard: an agent tells a guardian of each step
 * before it takes it, and obeys the answer.
 *
 *     const guardian = new Guardian({ agent: { id: "helper", instructions: "Help the office." } });
 *     const session = guardian.session();
 *
 *     await session.turn().run(async (turn) => {
 *       const { content: question } = await turn.message("user", "What is in notes.txt?");
 *       const readFile = turn.guarded(({ path }: { path: string }) => read(path), { name: "read_file" });
 *       const notes = await readFile({ path: "notes.txt" }); // asked, run, reported
 *       const { content: answer } = await turn.message("agent", `It says: ${notes}`);
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
}
/** The guardian denied the step. The error's message is one that a model can act on. */
export class Denied extends NotAllowed {
    name = "Denied";
    verdict;
    constructor(verdict, message = verdict.message) {
        super([message, ...(verdict.instead.length > 0 ? ["Instead:", ...verdict.instead] : [])].join(" "));
        this.verdict = verdict;
    }
    /** The rules' stable codes. */
    get reasons() {
        return this.verdict.reasons;
    }
    /** What the agent could do instead. */
    get instead() {
        return this.verdict.instead;
    }
    /** The record's place in the ledger. */
    get decisionId() {
        return this.verdict.decisionId;
    }
    /** Not denied for good: a person must agree first. The same step may be tried again later. */
    get pending() {
        return this.verdict.approval?.state === "held";
    }
    /** What people were asked, when they were. */
    get approval() {
        return this.verdict.approval;
    }
}
/** No guardian answered, within the time limit and after retries. */
export class Unreachable extends NotAllowed {
    name = "Unreachable";
    /** It was the time limit that ended the attempt. */
    timedOut;
    constructor(message, options = {}) {
        super(message, "cause" in options ? { cause: options.cause } : {});
        this.timedOut = options.timedOut ?? false;
    }
}
/** Something answered, and it was no verdict: an error, a refusal, or nothing that a guardian says. */
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
/** A tool threw an error, and the policy changed its text. This is what is left of it. */
export class ToolFailed extends Error {
    name = "ToolFailed";
}
// The client.
/** A guardian, and the agent that asks it. It can be used for any number of sessions at once. */
export class Guardian {
    #wire;
    #agent;
    #current;
    constructor(options) {
        this.#wire = new Wire(options);
        const agent = typeof options.agent === "string" ? { id: options.agent } : options.agent;
        if (typeof agent?.id !== "string" || agent.id === "") {
            throw new TypeError("the agent needs an id, which is a string");
        }
        // What the standard requires and the caller leaves out is said to be empty, not made up.
        const complete = { name: agent.id, instructions: "", version: "", provider: { name: "", url: "" }, ...defined(agent) };
        this.#agent = plain(complete, "agent");
    }
    /** A session: one conversation or task, of one user. Nothing is asked yet, and nothing needs to be closed. */
    session(options = {}) {
        return new Session(this.#wire, this.#agent, options, (turn, body) => this.#run(turn, body));
    }
    /**
     * Guards a tool: each call is asked about, made with the inputs that the verdict gives, and its
     * result is reported and replaced by what the verdict leaves of it. The call belongs to the turn
     * whose `run` it happens in. Where there is no AsyncLocalStorage (in a browser), `options.turn`
     * must find it among the call's arguments; `turn.guarded` needs neither.
     */
    guarded(tool, options = {}) {
        return guard(tool, options, (...args) => {
            const turn = options.turn === undefined ? this.#current?.getStore() : options.turn(...args);
            if (turn === undefined) {
                throw new Error("a guarded tool was called outside of a turn: call it in turn.run(…), give options.turn, or use turn.guarded");
            }
            return turn;
        });
    }
    /** Asks whether the guardian is alive and able to record (4.9). */
    async ping(options = {}) {
        return this.#wire.ping(options.metadata, [options.signal]);
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
    #wire;
    #context;
    #run;
    /** @internal */
    constructor(wire, agent, options, run) {
        this.id = idOf(options.id, "session");
        this.#wire = wire;
        this.#run = run;
        this.#context = { agent, session: plain({ id: this.id, metadata: options.metadata }, "session") };
        if (options.user !== undefined) {
            const user = typeof options.user === "string" ? { id: options.user } : options.user;
            this.#context["user"] = plain({ organization: agent["organization"] ?? { id: "" }, ...defined(user) }, "user");
        }
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
    /** Guards a tool, as {@link Guardian.guarded} does; its calls belong to this turn. */
    guarded(tool, options = {}) {
        return guard(tool, options, () => this);
    }
    /** Asks about an event that wakes the agent, before the agent reads its content (4.1). */
    async agentTrigger(content, options) {
        const event = { type: options.type, id: options.id ?? newId() };
        const parts = partsOf(content);
        const trigger = { type: "autonomous", event, content: parts, metadata: options.metadata };
        return this.#ask("steps/agentTrigger", { trigger }, options, (params) => contentIn(member(params, "trigger"), content, parts));
    }
    /**
     * Asks about a message (4.5): of the user, before the agent reads it; of the agent, or of the
     * system, such as a notice, before the user does.
     */
    async message(role, content, options = {}) {
        const parts = partsOf(content);
        const message = { id: idOf(options.id, "message"), role, content: parts, metadata: options.metadata };
        const params = { message, citation: options.citation ?? [], reasoning: options.reasoning };
        return this.#ask("steps/message", params, options, (params) => contentIn(member(params, "message"), content, parts));
    }
    /** Asks about retrieved knowledge, before the model reads it (4.2). */
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
    /** Asks about memory, before it is stored (4.3). Structured memory is given as its JSON. */
    memoryStore(memory, options = {}) {
        return this.#memory("steps/memoryStore", memory, options);
    }
    /** Asks about memory that was retrieved, before the model reads it (4.4). */
    memoryContextRetrieval(memory, options = {}) {
        return this.#memory("steps/memoryContextRetrieval", memory, options);
    }
    async #memory(method, memory, options) {
        const texts = typeof memory === "string" ? [memory] : memory;
        const { length } = texts;
        return this.#ask(method, { memory: texts, reasoning: options.reasoning }, options, (params) => sameTexts(list(params, "memory", length), memory));
    }
    /** Asks about a tool's call, before it is made (4.6). `guarded` does this and the rest. */
    async toolCallRequest(toolId, inputs, options = {}) {
        const executionId = idOf(options.executionId, "execution");
        const named = plain(inputs, "the inputs");
        if (!isObject(named)) {
            throw new TypeError("a tool's inputs are an object that names them");
        }
        const call = { executionId, toolId, inputs: Object.entries(named).map(([name, value]) => ({ name, value })) };
        const verdict = await this.#ask("steps/toolCallRequest", { toolCallRequest: call, reasoning: options.reasoning }, options, (params) => {
            const call = member(params, "toolCallRequest");
            if (call["toolId"] !== toolId || call["executionId"] !== executionId) {
                throw new Unusable("it names another call");
            }
            const inputs = list(call, "inputs", Object.keys(named).length).map((input) => {
                if (!isObject(input) || !("value" in input)) {
                    throw new Unusable("an input has no value");
                }
                return [text(input, "name"), input["value"]];
            });
            const record = Object.fromEntries(inputs);
            if (!Object.keys(named).every((name) => Object.hasOwn(record, name))) {
                throw new Unusable("it has other inputs");
            }
            return record;
        });
        return { ...verdict, executionId };
    }
    /** Asks about a tool's result, before the model reads it (4.6). An error's message is given with `isError`. */
    toolCallResult(executionId, outputs, options = {}) {
        return this.#result(executionId, outputs, options, [this.#signal, options.signal]);
    }
    /** Asks about an A2A message, before it is sent, or after it was received and before it is used (4.7). */
    a2a(message, options = {}) {
        return this.#protocol("protocols/A2A", message, options);
    }
    /** Asks about an MCP message, before it is sent, or after it was received and before it is used (4.8). */
    mcp(message, options = {}) {
        return this.#protocol("protocols/MCP", message, options);
    }
    #protocol(method, message, options) {
        return this.#ask(method, { message, reasoning: options.reasoning }, options, (params) => member(params, "message"));
    }
    async #result(executionId, outputs, options, signals) {
        const texts = typeof outputs === "string" ? [outputs] : outputs;
        const parts = texts.map((text) => ({ kind: "text", text }));
        const result = { outputs: parts, isError: options.isError ?? false };
        return this.#ask("steps/toolCallResult", { executionId, result }, options, (params) => sameTexts(list(member(params, "result"), "outputs", texts.length).map((part) => text(part, "text")), outputs), signals);
    }
    /** @internal Reports a result whatever signals say: the tool did run, and that belongs into the record. */
    static report(turn, executionId, outputs, isError, waitForApproval) {
        return turn.#result(executionId, outputs, { isError, waitForApproval }, []);
    }
    /** Asks about one step. `read` finds the content in the params that may happen. */
    async #ask(method, params, options, read, signals = [this.#signal, options.signal]) {
        const context = { ...this.#context, turnId: this.id, stepId: newId(), timestamp: new Date().toISOString() };
        return this.#wire.judge(method, { context, ...plain(defined(params), "the step") }, read, options.waitForApproval, signals);
    }
}
/** Wraps a tool, so that its calls and results are judged in the turn that `turnOf` finds. */
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
        const { executionId, content } = await turn.toolCallRequest(name, inputs, { waitForApproval });
        let output;
        try {
            // A tool that was called without arguments gets none, unless the policy gives it some.
            output = await tool(...(args.length === 0 && Object.keys(content).length === 0 ? [] : [content, ...rest]));
        }
        catch (error) {
            const said = sentenceOf(error);
            const verdict = await Turn.report(turn, executionId, said, true, waitForApproval);
            throw verdict.content === said ? error : new ToolFailed(verdict.content);
        }
        return report(turn, executionId, output, waitForApproval);
    };
}
/** What a tool threw, as a text. */
function sentenceOf(error) {
    try {
        return String(error);
    }
    catch {
        return "The tool failed, with something that is no error.";
    }
}
/** Reports what a tool gave, and returns what is left of it. */
async function report(turn, executionId, output, waitForApproval) {
    if (output === undefined) {
        await Turn.report(turn, executionId, [], false, waitForApproval);
        return output;
    }
    if (typeof output === "string") {
        return (await Turn.report(turn, executionId, output, false, waitForApproval)).content;
    }
    let json;
    try {
        json = JSON.stringify(plain(output, "the tool's output"));
    }
    catch (error) {
        // It ran, and what it gave cannot be judged: that is told, and nobody gets it.
        await Turn.report(turn, executionId, String(error), true, waitForApproval);
        throw error;
    }
    const verdict = await Turn.report(turn, executionId, json, false, waitForApproval);
    try {
        return JSON.parse(verdict.content);
    }
    catch {
        // The policy put a notice in the output's place. As a text it would be no output of this tool.
        throw new Denied({ ...verdict, decision: "deny" }, `${verdict.message} ${verdict.content}`);
    }
}
// How a guardian is asked.
/** The largest answer that is read. It is at most the request and a little, and a request has at most 4 MiB by default. */
const maxAnswer = 16 << 20;
/** The longest time that timers know, about 24 days. */
const maxTime = 2 ** 31 - 1;
/** How long a guardian that was slow has to show that it is alive. */
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
    #warned = false;
    constructor(options) {
        const environment = nodeProcess()?.env ?? {};
        this.#url = urlOf(options.url ?? (environment["REEVE_URL"] || "http://127.0.0.1:8080/aos"));
        this.#shown = this.#url.replace(/\?.*/s, "");
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
    /** Asks until there is a verdict, and reads the content of the params that may happen. */
    async judge(method, params, read, waitForApproval, signals) {
        // Every attempt sends these very bytes: by their ids the guardian knows the act again.
        const id = newId();
        const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
        const end = performance.now() + (waitForApproval === undefined ? this.#waitForApproval : timeOf(waitForApproval, "waitForApproval"));
        for (let held = false, pause = 250;; pause = Math.min(pause * 1.5, 2000)) {
            let reply;
            try {
                // The guardian may keep the answer back while it asks people, for as long as we would wait.
                const limit = Math.min(this.#timeout + Math.max(end - performance.now(), 0), maxTime);
                reply = await this.#call(method, id, body, limit, signals);
            }
            catch (error) {
                if (!(error instanceof Unreachable) || held || !(await this.#lets({ method, params }, error, signals))) {
                    throw error;
                }
                return { ...unanswered(error), content: read(params), params };
            }
            const answer = answerOf(reply, method, id);
            const ruling = rulingOf(answer);
            if (ruling.decision === "deny") {
                const wait = Math.min(pause, end - performance.now());
                held = ruling.approval?.state === "held";
                if (!held || wait <= 0) {
                    throw new Denied(ruling);
                }
                await sleep(wait, signals);
                continue;
            }
            const granted = answer.modifiedRequest === undefined ? params : answer.modifiedRequest["params"];
            try {
                return { ...ruling, decision: ruling.decision, content: read(granted), params: granted, unreachable: undefined };
            }
            catch (error) {
                if (error instanceof Unusable) {
                    throw new GuardianError(`the guardian's modified request cannot be applied to ${method}: ${error.message}`);
                }
                throw error;
            }
        }
    }
    /** Asks whether the guardian is alive. */
    async ping(metadata, signals, limit = this.#timeout) {
        const id = newId();
        const params = plain(defined({ timestamp: new Date().toISOString(), timeout: Math.ceil(limit), metadata }), "ping");
        const { result } = await this.#call("ping", id, JSON.stringify({ jsonrpc: "2.0", id, method: "ping", params }), limit, signals);
        const known = isObject(result) && (result["status"] === "connected" || result["status"] === "error");
        if (!known || typeof result["version"] !== "string" || typeof result["timestamp"] !== "string") {
            throw new GuardianError("the guardian's answer to ping does not say how it is");
        }
        return result;
    }
    /** Reports whether a step that nobody answered about may happen. */
    async #lets(step, error, signals) {
        if (this.#onUnreachable === "deny") {
            return false;
        }
        if (error.timedOut) {
            // A slow guardian is not away: else whatever is hard to judge, or waits for people, would pass.
            try {
                await this.ping(undefined, signals, Math.min(this.#timeout, aliveTime));
                return false;
            }
            catch (ping) {
                if (!(ping instanceof Unreachable)) {
                    throw ping;
                }
            }
        }
        if (typeof this.#onUnreachable === "function") {
            return (await this.#onUnreachable(step, error)) === true; // and nothing else that is truthy
        }
        if (!this.#warned) {
            this.#warned = true;
            console.warn(`reeve: ${error.message}. Steps go on without a guardian, since onUnreachable is "allow".`);
        }
        return true;
    }
    /** Makes one JSON-RPC call, with retries, within a time limit. */
    async #call(method, id, body, limit, signals) {
        const end = performance.now() + limit;
        const stop = stopper(limit, signals);
        try {
            for (let attempt = 0, pause = 100;; attempt++, pause *= 4) {
                await stop.race(Promise.resolve()); // nothing is sent after the end
                const outcome = await stop.race(this.#attempt(method, id, body, stop.signal));
                if ("result" in outcome) {
                    return outcome;
                }
                const wait = outcome.after ?? pause;
                if (attempt >= this.#retries || performance.now() + wait >= end) {
                    throw outcome.error;
                }
                await stop.race(new Promise((resolve) => stop.later(resolve, wait)));
            }
        }
        catch (error) {
            throw error === stop.late ? new Unreachable(`the guardian at ${this.#shown} did not answer ${method} within ${Math.round(limit)} ms`, { timedOut: true }) : error;
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
            return { error: new Unreachable(`the guardian at ${this.#shown} cannot be reached: ${causeOf(error)}`, { cause: error }) };
        }
        const { status } = response;
        if (response.type === "opaqueredirect" || (status >= 300 && status <= 399)) {
            throw new GuardianError(`the guardian at ${this.#shown} answered with a redirect, which is not followed`, { status });
        }
        if (answer === undefined) {
            throw new GuardianError(`the guardian's answer to ${method} is larger than ${maxAnswer} bytes, or no UTF-8`, { status });
        }
        const message = parsed(answer);
        const said = isObject(message) && isObject(message["error"]) ? this.#said(method, message["error"], status) : undefined;
        if (status === 429 || status >= 500) {
            // A gateway says that nobody is behind it; a guardian that speaks for itself is there.
            const away = status >= 502 && status <= 504;
            const text = `the guardian at ${this.#shown} answered ${method} with the HTTP status ${status}`;
            return { error: said ?? (away ? new Unreachable(text) : new GuardianError(text, { status })), after: retryAfter(response.headers.get("Retry-After")) };
        }
        if (status !== 200) {
            throw said ?? new GuardianError(`the guardian at ${this.#shown} answered ${method} with the HTTP status ${status}`, { status });
        }
        const invalid = (reason) => new GuardianError(`the guardian's answer to ${method} ${reason}`, { status });
        if (!isObject(message) || message["jsonrpc"] !== "2.0") {
            throw invalid("is not JSON-RPC 2.0");
        }
        if ("result" in message === "error" in message) {
            throw invalid("needs either a result or an error");
        }
        if ("error" in message) {
            throw said ?? invalid("has an error that says nothing");
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
/** The verdict on a step that passes unjudged. */
function unanswered(error) {
    return {
        decision: "allow", message: `Nobody judged this: ${error.message}.`, reasoning: "", reasons: [], instead: [], conditions: [],
        decisionId: undefined, repeat: false, approval: undefined, data: {}, answer: undefined, unreachable: error,
    };
}
/** Checks that an answer is a verdict on the request. */
function answerOf({ result, json }, method, id) {
    const invalid = (reason) => new GuardianError(`the guardian's answer to ${method} ${reason}`);
    if (!isObject(result) || typeof result["message"] !== "string") {
        throw invalid("is no verdict");
    }
    const modified = result["modifiedRequest"];
    switch (result["decision"]) {
        case "allow":
        case "deny":
            if (modified !== undefined) {
                throw invalid(`says ${result["decision"]} together with a modified request`);
            }
            break;
        case "modify":
            if (!isObject(modified) || modified["method"] !== method || modified["id"] !== id || !isObject(modified["params"])) {
                throw invalid("says modify without a modified request of the same method and id");
            }
            if (!isExact(json)) {
                throw invalid("says modify, with a number that JavaScript cannot hold exactly");
            }
            break;
        default:
            throw invalid("decides neither allow, deny nor modify");
    }
    return result;
}
/** What an answer says. Other guardians than reeve leave parts of it out. */
function rulingOf(answer) {
    const data = isObject(answer.data) ? answer.data : {};
    const texts = (value) => (Array.isArray(value) ? value.filter((s) => typeof s === "string") : []);
    const optional = (value) => (typeof value === "string" ? value : undefined);
    const approval = data["approval"];
    return {
        decision: answer.decision,
        message: answer.message,
        reasoning: optional(answer.reasoning) ?? "",
        reasons: texts(answer.reasonCode),
        instead: texts(data["instead"]),
        conditions: texts(data["conditions"]),
        decisionId: optional(data["decision_id"]),
        repeat: data["repeat"] === true,
        approval: isObject(approval) ? { id: optional(approval["id"]) ?? "", state: optional(approval["state"]) ?? "", expiresAt: optional(approval["expires_at"]) } : undefined,
        data,
        answer,
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
/** A JSON text's value; undefined when it is none. */
function parsed(text) {
    try {
        return JSON.parse(text);
    }
    catch {
        return undefined;
    }
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
            for (i++; json[i] !== '"'; i++) {
                if (json[i] === "\\") {
                    i++;
                }
            }
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
/** Why a fetch failed: undici says only "fetch failed", and keeps the reason as the cause. */
function causeOf(error) {
    const { cause } = error;
    for (const said of [cause?.code, cause?.message, error.message]) {
        if (typeof said === "string" && said !== "") {
            return said;
        }
    }
    return String(error);
}
// Small things that the rest is made of.
/** The guardian's modified request is none that the step can be taken with. */
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
    if (!Array.isArray(value) || value.length !== length) {
        throw new Unusable(`it has no list of ${length} ${name}`);
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
    return (typeof given === "string" ? text(parts[0], "text") : parts);
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
    if ((url.protocol !== "http:" && url.protocol !== "https:") || url.username !== "" || url.password !== "") {
        throw new TypeError("the guardian's url begins with http: or https:, and holds no credentials: give them as key");
    }
    url.hash = "";
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
