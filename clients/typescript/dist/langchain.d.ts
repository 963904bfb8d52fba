import { createMiddleware } from "langchain";
import { type AdapterOptions } from "./adapter.js";
import type { Guardian } from "./reeve-aos.js";
/**
 * Asks the guardian about the tool calls of an agent, their results, and the agent's messages. The session is
 * LangGraph's thread (`configurable: { thread_id }`), the turn the user's last message.
 */
export declare function guardianMiddleware(guardian: Guardian, options?: AdapterOptions): ReturnType<typeof createMiddleware>;
