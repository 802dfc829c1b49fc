import type { Random } from '@sluice/testkit';
import { NEXT_AFTER, RESET_AFTER, RETRY_AFTER } from '../../src/program/decide.ts';
import type { Policy } from '../../src/policies/index.ts';
import type { Answer, Ask, Op } from '../../src/stores/store.ts';
import { key, START } from './stores.ts';

export type Request = readonly [op: Op, asks: readonly Ask[]];

const EDITS = ['give', 'charge', 'reset', 'block', 'renew'] as const;
const OPS = ['take', 'take', 'take', 'peek', 'try', ...EDITS] as const;

/** Random turns of one to some requests each, on the keys of some policies. */
export class Traffic {
  readonly #random: Random;
  readonly #name: string;
  readonly #policies: readonly Policy[];
  /** Whether the policies share a key now and then, and read what another kind wrote. */
  readonly #isMixed: boolean;
  /** How often, in percent. */
  readonly #shared: number;
  nowMs: number;
  #waits: number[] = [];
  #until: number[] = [0];
  /** Of decisions before. */
  #instants: number[] = [];

  constructor(random: Random, name: string, policies: readonly Policy[], isMixed: boolean, shared = 12) {
    this.#shared = shared;
    this.#random = random;
    this.#name = name;
    this.#policies = policies;
    this.#isMixed = isMixed;
    this.nowMs = START + random.integer(0, 1e9);
  }

  /** The requests of the next turn, at an instant that is near an edge of what was answered. */
  next(): readonly Request[] {
    const edges = this.#waits.flatMap((wait) => [wait, wait - 1]).filter((wait) => wait >= 0 && wait < 1e11);
    this.nowMs += this.#random.pick([0, 0, 1, 3, 99, 1_000, -5, -1_000, ...edges]);
    const requests: Request[] = [];
    for (let left = this.#random.pick([1, 1, 2, 6]); left > 0; left--) {
      const request = this.#request();
      const times = this.#random.pick([1, 1, 1, 3]);
      if (request[1].length > 0) requests.push(...new Array<Request>(times).fill(request));
    }
    return requests;
  }

  learn({ atMs, figures }: Answer): void {
    this.#instants = [atMs, ...this.#instants.slice(0, 5)];
    this.#waits = figures.flatMap((told) => [RETRY_AFTER, RESET_AFTER, NEXT_AFTER].map((place) => told[place] ?? 0));
    this.#until = [0, ...figures.map((told) => this.nowMs + (told[RESET_AFTER] ?? 0))];
  }

  #request(): Request {
    const random = this.#random;
    const op = random.pick(OPS);
    const isDecision = op === 'take' || op === 'peek' || op === 'try';
    const cost = random.pick([isDecision || op === 'block' ? 0 : 1, 1, 1, 1, 2, 3, 50]);
    const holder = random.integer(1, 3);
    const asks = new Map<string, Ask>();
    for (const [i, policy] of this.#policies.entries()) {
      const at = key(`${this.#name}${this.#isMixed && random.percent(this.#shared) ? 'shared' : String(i)}`);
      if (random.percent(75)) asks.set(at, { key: at, policy, cost, ...(isSlot(policy) && { holder }) });
    }
    if (isDecision) return [op, [...asks.values()]];
    const until = op === 'block' ? random.pick([0, 1, 500, 100_000]) : random.pick(this.#until as [number]);
    // Units that are given back, or charged more, were taken at some instant, perhaps before a reset.
    const taken = random.pick([0, ...this.#instants]);
    const edits = [...asks.values()].slice(0, 1);
    return [op, edits.map((ask) => ({ ...ask, until, ...(taken > 0 && !isSlot(ask.policy) && { holder: taken }) }))];
  }
}

const isSlot = ({ algorithm }: Policy): boolean => algorithm === 'concurrency';
