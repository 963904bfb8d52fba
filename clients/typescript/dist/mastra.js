/**
 * Mastra: every tool call of an agent is asked about.
 *
 *     const agent = guard(guardian, new Agent({ id: "helper", name: "Helper", instructions, model, tools }))
 *
 * @module
 */
import { Adapter } from "./adapter.js";
const guardedAgents = new WeakSet();
/**
 * Guards an agent, itself: each tool of a run is asked about, wherever it comes from and whenever it came, and so are
 * those of its agents, which are told by their names. A call that is denied is a tool's error, whose text the model
 * reads. Tools without `execute` run elsewhere (in the client, or at the provider): nobody is asked about them.
 */
export function guard(guardian, agent, options = {}) {
    if (guardedAgents.has(agent)) {
        return agent;
    }
    const held = agent;
    const { convertTools, listAgents } = held;
    if (typeof convertTools !== "function" || typeof listAgents !== "function") {
        throw new TypeError("an agent of this kind, or of this version of the framework, has tools that this module cannot hold");
    }
    const adapter = new Adapter(guardian, options);
    held.convertTools = async (how) => guarded(await convertTools.call(held, how), (name) => name, () => adapter.turn(how.threadId));
    const below = (agents) => {
        Object.values(agents).forEach((one) => guard(guardian, one, { ...options, agent: one.name }));
        return agents;
    };
    held.listAgents = (...args) => {
        const agents = listAgents.apply(held, args);
        return agents instanceof Promise ? agents.then(below) : below(agents);
    };
    guardedAgents.add(agent);
    return agent;
}
/**
 * Tools that are used outside of agents, such as the steps of a workflow, guarded, under the ids that they have. To
 * what is returned no other tool can be added.
 */
export function guardTools(guardian, tools, options = {}) {
    const adapter = new Adapter(guardian, options);
    return Object.freeze(guarded(tools, (name, { id }) => id ?? name, (context) => adapter.turn(threadOf(context))));
}
function guarded(tools, idOf, turnOf) {
    const copies = Object.entries(tools).map(([name, tool]) => {
        const { execute } = tool;
        if (execute === undefined) {
            return [name, tool];
        }
        // A tool is an object of a class, which the framework knows again.
        const copy = Object.assign(Object.create(Object.getPrototypeOf(tool)), tool);
        copy.execute = (input, context) => turnOf(context).call(idOf(name, tool), input, (judged) => execute.call(tool, judged, context));
        return [name, copy];
    });
    return Object.fromEntries(copies);
}
/** The thread of the agent's memory, which is the session. */
function threadOf(context) {
    return context?.agent?.threadId;
}
const guardedStores = new WeakSet();
/**
 * Guards a memory, itself: what is put into its storage is judged before it is kept (messages, and the working memory of
 * a resource), and what it gives before anybody reads it (messages that are listed or recalled, working memories). What the
 * guardian does not allow throws: of what is put together nothing is kept then, and of what is given nothing is read.
 * Other memories of the same storage are guarded with it. Observational memory is switched off: it is read by other ways.
 */
export function guardMemory(guardian, memory, options = {}) {
    const { storage } = memory;
    if (storage === undefined || typeof storage.getStore !== "function") {
        throw new TypeError("a memory of this kind, or of this version of the framework, has a storage that this module cannot hold");
    }
    if (!guardedStores.has(storage)) {
        guardedStores.add(storage);
        const adapter = new Adapter(guardian, options);
        const getStore = storage.getStore.bind(storage);
        storage.getStore = async (name) => {
            const store = await getStore(name);
            if (name === "memory" && store !== undefined) {
                guardStore(adapter, store);
            }
            return store;
        };
    }
    return memory;
}
function guardStore(adapter, store) {
    if (guardedStores.has(store)) {
        return;
    }
    guardedStores.add(store);
    const held = store;
    const over = (name, make) => {
        const original = held[name];
        if (typeof original === "function") {
            held[name] = make(original.bind(store));
        }
    };
    Object.defineProperty(store, "supportsObservationalMemory", { value: false });
    const keep = (texts, thread) => adapter.turn(thread).memoryStore(texts);
    const read = (texts, thread) => adapter.turn(thread).memoryContextRetrieval(texts);
    for (const name of ["saveMessages", "updateMessages"]) {
        over(name, (original) => async (args) => original({ ...args, messages: await left(args.messages, keep) }));
    }
    for (const name of ["listMessages", "listMessagesByResourceId", "listMessagesById"]) {
        over(name, (original) => async (args) => {
            const found = (await original(args));
            return { ...found, messages: await left(found.messages, read) };
        });
    }
    over("updateResource", (original) => async (args) => original((await working(args, keep))));
    over("saveResource", (original) => async (args) => original({ ...args, resource: await working(args.resource, keep) }));
    over("getResourceById", (original) => async (args) => working((await original(args)), read));
    over("getThreadById", (original) => async (args) => {
        const thread = (await original(args));
        return thread?.metadata === undefined ? thread : { ...thread, metadata: await working(thread.metadata, read, thread.id) };
    });
}
/** Messages as the guardian left them. The content of each is told as JSON. */
async function left(messages, ask) {
    const where = messages.filter(({ content }) => content !== undefined);
    if (where.length === 0) {
        return [...messages];
    }
    const texts = where.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)));
    const { content: judged } = await ask(texts, where[0].threadId);
    return messages.map((message) => {
        const i = where.indexOf(message);
        return i < 0 || judged[i] === texts[i] ? message : { ...message, content: typeof message.content === "string" ? judged[i] : JSON.parse(judged[i]) };
    });
}
/** What has a working memory, with what the guardian left of that. */
async function working(of, ask, thread) {
    if (typeof of?.workingMemory !== "string" || of.workingMemory === "") {
        return of;
    }
    const { content } = await ask([of.workingMemory], thread);
    return content[0] === of.workingMemory ? of : { ...of, workingMemory: content[0] };
}
