/**
 * The OpenAI Agents SDK: every function tool and hand-over of an agent, and of those that it hands over to, is asked about.
 *
 *     const guarded = new GuardedRunner(guardian, new Runner());
 *     const { finalOutput } = await guarded.run(agent, "Tell Bo that the build is green.");
 *
 * @module
 */
import { type AdapterOptions } from "./adapter.js";
import type { Guardian } from "./reeve-aos.js";
interface SdkRunner {
    run(agent: never, input: never, options?: never): Promise<unknown>;
}
/** Of a run, what the guardian left. */
export interface GuardedResult<R> {
    /** The agent's answer. */
    readonly finalOutput: unknown;
    /** The run, whose own finalOutput nobody has judged. */
    readonly result: R;
}
/**
 * Runs agents as the SDK's runner does, and asks the guardian about their messages and tool calls. The session
 * is the run's `conversationId`, and each run is a turn.
 */
export declare class GuardedRunner<R extends SdkRunner> {
    #private;
    constructor(guardian: Guardian, runner: R, options?: Pick<AdapterOptions, "user">);
    /** Runner.run(), guarded. */
    run(agent: object, input: unknown, options?: {
        readonly conversationId?: string;
    } & Record<string, unknown>): Promise<GuardedResult<Awaited<ReturnType<R["run"]>>>>;
    /**
     * The agent with guarded tools and hand-overs, for a turn that the program opens, for streams, and for asTool(). What is
     * given to it later, and to its clones, is guarded, too.
     */
    guard<A extends object>(agent: A): A;
}
export {};
