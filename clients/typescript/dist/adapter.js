/**
 * What the modules for agent frameworks share, and what a module for another one begins with.
 *
 * An adapter finds the turn that the framework is in, has `turn.call` ask, run and report, and lets
 * the model read a denial. All else that is NotAllowed (the guardian is away, or answered no
 * verdict) is thrown: nothing ran that was not allowed, and no result is used that was not judged.
 *
 * @module
 */
import { Denied } from "./reeve-aos.js";
/**
 * Where the acts of a framework's agent belong.
 *
 * A turn that the program runs (`session.turn().run(…)`) is the one that everything belongs to, and its
 * messages are the program's to tell. Else the framework's own conversation is the session, each run of
 * the agent is a turn, and its messages are told by the adapter.
 */
export class Adapter {
    guardian;
    #options;
    constructor(guardian, options = {}) {
        this.guardian = guardian;
        this.#options = options;
    }
    /** No turn is open here: what the user says, and what the agent answers, is told by the adapter. */
    get tellsMessages() {
        return this.guardian.openTurn === undefined;
    }
    /** The turn that is open here, or the one that the framework calls so. */
    turn(session, turn, agent) {
        let here = this.guardian.openTurn;
        if (here === undefined) {
            const opened = this.guardian.session({ id: session ?? (turn === undefined ? undefined : `run-${turn}`), user: this.#options.user });
            here = opened.turn({ id: turn });
        }
        return here.of(agent ?? this.#options.agent);
    }
    /** What a call gives; of one that is denied, what the model is to be told. */
    async orTold(call, told) {
        try {
            return await call;
        }
        catch (error) {
            if (error instanceof Denied) {
                return told(error);
            }
            throw error;
        }
    }
}
