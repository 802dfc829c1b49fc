import { BLOCK, change, decide, figures, GIVE, type Part } from '../../src/program/decide.ts';
import type { Family } from '../../src/program/family.ts';
import { KINDS, type Kind } from '../../src/program/kinds.ts';
import { unused, type Nums } from '../../src/program/numbers.ts';

/** A policy as the program reads it. */
export interface Plan {
  readonly kind: Kind;
  readonly family: Family;
  readonly numbers: Nums;
}

export function planOf(kind: Kind, numbers: Nums): Plan {
  return { kind, family: KINDS[kind], numbers };
}

/** What is asked of one key. */
export interface Ask {
  readonly key: string;
  readonly plan: Plan;
  readonly cost: number;
  readonly holder?: number;
  /** When the units leave that are given back or charged, or when a block ends; 0 or left out: now. */
  readonly until?: number;
}

/** What a key holds. */
export interface Held {
  kind: Kind;
  s: Nums;
  blocked: number;
}

export interface Keys {
  find(key: string): Held | undefined;
  keep(key: string, held: Held): void;
}

export interface Answer {
  readonly atMs: number;
  /** Of each ask, in the order of `figures` in program/decide.ts. */
  readonly figures: readonly (readonly number[])[];
}

/** Performs one request on keys in memory: those of the memory store, or those that a reply of Redis contains. */
export function perform(keys: Keys, op: number, asks: readonly Ask[], now: number): Answer {
  const parts: Part[] = [];
  const found: (Held | undefined)[] = [];
  for (const { key, plan, cost, holder = 0 } of asks) {
    const held = keys.find(key);
    found.push(held);
    parts.push({
      f: plan.family,
      p: plan.numbers,
      cost,
      holder,
      s: held?.kind === plan.kind ? held.s : unused(),
      blocked: held?.blocked ?? 0,
      t: now,
      endsAt: 0,
      wait: 0,
      delay: 0,
      changed: false,
    });
  }
  if (op < GIVE) decide(parts, op, now);
  else for (const [i, part] of parts.entries()) change(part, op, asks[i]?.until ?? 0, now);
  const told: number[][] = [];
  for (const [i, part] of parts.entries()) {
    const ask = asks[i];
    if (part.changed && ask !== undefined) {
      const held = found[i];
      // A block leaves the state of another kind as it is, unless it resets it.
      if (op === BLOCK && part.cost === 0 && held !== undefined) held.blocked = part.blocked;
      else if (held === undefined) keys.keep(ask.key, { kind: ask.plan.kind, s: part.s, blocked: part.blocked });
      else {
        held.kind = ask.plan.kind;
        held.s = part.s;
        held.blocked = part.blocked;
      }
    }
    told.push(figures(part, now));
  }
  return { atMs: now, figures: told };
}

/** A store without a bound: nothing but the program. */
export class ProgramInMemory {
  readonly #keys = new Map<string, Held>();
  atMs = 0;

  find(key: string): Held | undefined {
    return this.#keys.get(key);
  }

  keep(key: string, held: Held): void {
    this.#keys.set(key, held);
  }

  perform(op: number, asks: readonly Ask[]): Answer {
    return perform(this, op, asks, this.atMs);
  }
}
