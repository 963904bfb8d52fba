import { BaseStore, type Operation, type OperationResults } from "@langchain/langgraph";
import { createMiddleware } from "langchain";
import { type AdapterOptions } from "./adapter.js";
import { type Guardian } from "./reeve-aos.js";
/**
 * Asks the guardian about the tool calls of an agent, their results, and the agent's messages. The session is
 * LangGraph's thread (`configurable: { thread_id }`), the turn the user's last message.
 */
export declare function guardianMiddleware(guardian: Guardian, options?: AdapterOptions): ReturnType<typeof createMiddleware>;
/**
 * A store of memories: what is put into it is judged before it is kept, and what is found before anybody reads it. The
 * guardian is told each memory with its namespace and key, which may say something as well. One that it does not allow
 * throws NotAllowed: of what is put together nothing is kept then, and of what is found nothing is read. Where a memory
 * is taken out of the store, only the tool that does it is asked about.
 */
export declare class GuardedStore extends BaseStore {
    #private;
    constructor(store: BaseStore, guardian: Guardian, options?: AdapterOptions);
    batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>>;
    start(): void | Promise<void>;
    stop(): void | Promise<void>;
}
