/**
 * The Claude Agent SDK: every tool call of an agent is asked about, Claude Code's own tools, too.
 *
 *     for await (const message of query({ prompt, options: guard(guardian, options) })) …
 *
 * @module
 */
import { type AdapterOptions } from "./adapter.js";
import { type Guardian } from "./reeve-aos.js";
/**
 * The options, with hooks that ask about each tool call, its result, and what the user says. The session is the SDK's,
 * each prompt is a turn, and an agent below is told by its type. Claude Code blocks what a hook of these fails at.
 */
export declare function guard<O extends object>(guardian: Guardian, options: O, more?: AdapterOptions): O;
