// One life of one agent: it can die at any call it makes, before the call has an effect or after. Whatever it had under way
// is never answered, and none of its timers comes back.

import type { Call } from "./line.ts";

export type Moment = "before" | "after";

interface Doom {
  callsLeft: number;
  readonly at: Moment;
  readonly onDeath: () => void;
  /** Only such calls count; absent: all. */
  readonly only: Partial<Call> | undefined;
}

export class Process {
  readonly name: string;
  #isDead = false;
  #doom: Doom | undefined;
  readonly #ends = new Set<() => void>();
  /** What it wants to watch, and whether it does. */
  readonly #watches = new Map<string, boolean>();

  constructor(name: string) {
    this.name = name;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** It dies at that call from now on. */
  doom(call: number, at: Moment, onDeath: () => void, only?: Partial<Call>): void {
    this.#doom = { callsLeft: call, at, onDeath, only };
  }

  spare(): void {
    this.#doom = undefined;
  }

  /** True when this call is the last thing that it does. */
  isLast(call: Call): false | Moment {
    const doom = this.#doom;
    if (doom === undefined || this.#isDead) return false;
    const { verb = call.verb, plural = call.plural } = doom.only ?? {};
    if (verb !== call.verb || plural !== call.plural) return false;
    doom.callsLeft -= 1;
    return doom.callsLeft > 0 ? false : doom.at;
  }

  /** Its doom, now; unless it was spared while its last call was under way. */
  meetDoom(): void {
    const doom = this.#doom;
    if (doom === undefined) return;
    this.die();
    doom.onDeath();
  }

  die(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#doom = undefined;
    for (const end of this.#ends) end();
    this.#ends.clear();
  }

  noteWatch(what: string, isOpen: boolean): void {
    this.#watches.set(what, isOpen);
  }

  forgetWatch(what: string): void {
    this.#watches.delete(what);
  }

  /** What it has not seen for a while, and will see again by and by. */
  blindSpots(): readonly string[] {
    return [...this.#watches].flatMap(([what, isOpen]) => (isOpen ? [] : what));
  }

  /** Called when it dies: the server notices that its connections are gone. Returns how to forget it. */
  onDeath(end: () => void): () => void {
    this.#ends.add(end);
    return () => this.#ends.delete(end);
  }
}
