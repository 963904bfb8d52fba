/**
 * Vercel's AI SDK: every call of the tools that a model is given is asked about.
 *
 *     generateText({ model, tools: guardTools(guardian, tools), prompt })
 *
 * @module
 */
import { type AdapterOptions } from "./adapter.js";
import type { Guardian } from "./reeve-aos.js";
/**
 * The tools, guarded. A call that is denied is a tool's error, whose text the model reads. Tools without `execute`
 * run elsewhere (in the client, or at the provider) and stay as they are: nobody is asked about them. To what is returned
 * no other tool can be added, and none in it can be changed: such a tool would run unasked.
 */
export declare function guardTools<T extends Record<string, object>>(guardian: Guardian, tools: T, options?: AdapterOptions): T;
