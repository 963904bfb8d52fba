/**
 * Mastra: every call of the tools that an agent is given is asked about.
 *
 *     new Agent({ id: "helper", name: "Helper", instructions, model, tools: guardTools(guardian, tools) })
 *
 * @module
 */
import { type AdapterOptions } from "./adapter.js";
import type { Guardian } from "./reeve-aos.js";
/**
 * The tools, guarded, under the ids that they have. A call that is denied is a tool's error, whose text the model
 * reads. Tools without `execute` run elsewhere and stay as they are: nobody is asked about them.
 */
export declare function guardTools<T extends Record<string, object>>(guardian: Guardian, tools: T, options?: AdapterOptions): T;
