/**
 * What the modules for agent frameworks share, and what a module for another one begins with.
 *
 * An adapter finds the turn that the framework is in, has `turn.call` ask, run and report, and lets
 * the model read a denial. All else that is NotAllowed (the guardian is away, or answered no
 * verdict) is thrown: nothing ran that was not allowed, and no result is used that was not judged.
 *
 * @module
 */
import { Denied, type Guardian, type Session, type Turn, type User } from "./reeve-aos.js";

/** What can be said about an agent of a framework. */
export interface AdapterOptions {
  /** The agent's name, when it is one that the guardian's own starts or hands over to. */
  readonly agent?: string | undefined;
  /** For whom the agent acts, when the framework opens the sessions. */
  readonly user?: string | User | undefined;
}

/**
 * Where the acts of a framework's agent belong.
 *
 * A turn that the program runs (`session.turn().run(…)`) is the one that everything belongs to, and its
 * messages are the program's to tell. Else the framework's own conversation is the session, each run of
 * the agent is a turn, and its messages are told by the adapter.
 */
export class Adapter {
  readonly guardian: Guardian;
  readonly #options: AdapterOptions;

  constructor(guardian: Guardian, options: AdapterOptions = {}) {
    this.guardian = guardian;
    this.#options = options;
  }

  /** No turn is open here: what the user says, and what the agent answers, is told by the adapter. */
  get tellsMessages(): boolean {
    return this.guardian.openTurn === undefined;
  }

  /** The turn that is open here, or the one that the framework calls so. */
  turn(session?: string | undefined, turn?: string | undefined, agent?: string | undefined): Turn {
    let here = this.guardian.openTurn;
    if (here === undefined) {
      const opened: Session = this.guardian.session({ id: session ?? (turn === undefined ? undefined : `run-${turn}`), user: this.#options.user });
      here = opened.turn({ id: turn });
    }
    return here.of(agent ?? this.#options.agent);
  }

  /** What a call gives; of one that is denied, what the model is to be told. */
  async orTold<R, D>(call: Promise<R>, told: (denied: Denied) => D): Promise<R | D> {
    try {
      return await call;
    } catch (error) {
      if (error instanceof Denied) {
        return told(error);
      }
      throw error;
    }
  }
}
