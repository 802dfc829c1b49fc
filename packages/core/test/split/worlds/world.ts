import { jest } from '@jest/globals';
import {
  Machine,
  findMaxBeyondRefill,
  findMaxPerInterval,
  findMaxPerWindow,
  VirtualTime,
  type Admission,
  type Random,
} from '@sluice/testkit';
import { fixedWindow, slidingWindow, tokenBucket, type Policy } from '../../../src/index.ts';
import { ALLOWED } from '../../../src/program/decide.ts';
import type { Membership } from '../../../src/split/membership/membership.ts';
import { createSplitStore, type SplitStore } from '../../../src/split/split-store.ts';

/** What all instances of a world share. */
export interface Plan {
  readonly units: number;
  readonly windowMs: number;
  readonly overdraft: number;
  readonly ttlMs: number;
  readonly graceMs: number;
  /** The longest that a message is under way while there are no troubles. */
  readonly latencyMs: number;
}

export const KINDS = ['fixed', 'sliding', 'bucket'] as const;
export type Kind = (typeof KINDS)[number];

/** One process, on a machine of its own, with a way to the registry. */
export interface Instance {
  readonly id: string;
  readonly machine: Machine;
  readonly store: SplitStore;
  /** Its date is never set: a date that is set back hides how long a machine slept. */
  readonly isSuspendable: boolean;
  weight: number;
  isCutOff: boolean;
  latencyMs: number;
  /** What it allowed, by kind and key. */
  readonly admissions: Map<string, Admission[]>;
}

/** How many live at once, at most. */
export const MAX_INSTANCES = 7;
/** The longest latency of a message without troubles. */
export const WELL_MS = 5;
/** A whole second, so that windows begin as people expect. */
const START_MS = 1_795_262_400_000;

/** Instances that come and go, and requests, in virtual time: and what was allowed. */
export abstract class World<P extends Plan = Plan> {
  readonly plan: P;
  readonly random: Random;
  readonly time: VirtualTime = new VirtualTime(START_MS);
  /** All that were ever started. */
  readonly all: Instance[] = [];
  live: Instance[] = [];
  isWell = false;
  readonly #policies: Readonly<Record<Kind, Policy>>;

  constructor(plan: P, random: Random) {
    this.plan = plan;
    this.random = random;
    jest.spyOn(Math, 'random').mockImplementation(() => random.integer(0, 999_999) / 1e6);
    const { units, windowMs, overdraft } = plan;
    this.#policies = {
      fixed: fixedWindow({ limit: units, window: windowMs, align: 'clock' }),
      sliding: slidingWindow({ limit: units, window: windowMs }),
      bucket: tokenBucket({ capacity: units, refill: units, every: windowMs, overdraft }),
    };
  }

  abstract membershipOf(instance: () => Instance, id: string, machine: Machine): Membership;

  /** Starts an instance whose clocks are wrong by this, unless there are enough. */
  start(weight: number, clocks = { rate: 1, dateOffsetMs: 0 }, id = `i${String(this.all.length + 1)}`): void {
    if (this.live.length >= MAX_INSTANCES) return;
    const machine = new Machine(this.time, clocks);
    const membership = this.membershipOf(() => instance, id, machine);
    const store = createSplitStore({ membership, graceMs: this.plan.graceMs }, machine);
    const isSuspendable = this.random.percent(50);
    const rest = { isSuspendable, weight, isCutOff: false, latencyMs: this.plan.latencyMs, admissions: new Map() };
    const instance: Instance = { id, machine, store, ...rest };
    this.all.push(instance);
    this.live.push(instance);
    for (const kind of KINDS) store.checkPolicy(this.#policies[kind]);
  }

  /** Ends a process, with or without a last message. */
  end(instance: Instance, how: 'leaves' | 'crashes'): void {
    this.live = this.live.filter((other) => other !== instance);
    if (how === 'crashes') instance.machine.isDead = true;
    else void instance.store.close();
  }

  any(): Instance | undefined {
    return this.live[this.random.integer(0, this.live.length - 1)];
  }

  /** Asks an instance for one unit after the other of a key, until it denies. */
  grab(instance: Instance, kind: Kind, key: string, max = Infinity): number {
    if (!instance.machine.isAwake) return 0;
    const ask = { key: `{${key}}:${kind}`, policy: this.#policies[kind], cost: 1 };
    let allowed = 0;
    try {
      while (allowed < max && instance.store.perform('take', [ask]).figures[0]?.[ALLOWED] === 1) allowed++;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'SLUICE_SPLIT_UNCONFIRMED') throw error;
    }
    const place = `${kind} ${key}`;
    const admissions = instance.admissions.get(place) ?? [];
    if (allowed > 0) admissions.push({ atMs: this.time.nowMs, units: allowed });
    instance.admissions.set(place, admissions);
    return allowed;
  }

  /** The same for all instances at once. */
  grabAll(kind: Kind, key: string): number {
    return this.live.reduce((sum, instance) => sum + this.grab(instance, kind, key), 0);
  }

  /** The kinds of policies by which more than the limit was allowed of a key, and how much more. */
  excess(): readonly string[] {
    const { units, windowMs, overdraft } = this.plan;
    const rate = units / windowMs;
    const over: Readonly<Record<Kind, (admissions: readonly Admission[]) => number>> = {
      fixed: (admissions) => findMaxPerWindow(admissions, windowMs) - units,
      // Clocks are read in whole milliseconds.
      sliding: (admissions) => findMaxPerInterval(admissions, windowMs - 1) - units,
      bucket: (admissions) => Math.floor(findMaxBeyondRefill(admissions, rate) - units - overdraft - rate),
    };
    const places = new Set(this.all.flatMap(({ admissions }) => [...admissions.keys()]));
    return [...places].flatMap((place) => {
      const together = this.all.flatMap(({ admissions }) => admissions.get(place) ?? []);
      const excess = over[place.split(' ')[0] as Kind](together.sort((a, b) => a.atMs - b.atMs));
      return excess > 0 ? [`${place}: ${String(excess)}`] : [];
    });
  }

  /** Lets something happen, unless all is well by then. */
  later(ms: number, happen: () => void): void {
    this.time.after(ms, () => {
      if (!this.isWell) happen();
    });
  }

  /** A message to or from an instance, which may be late or lost. */
  carry(instance: Instance, arrive: () => void): void {
    if (instance.isCutOff) return;
    this.time.after(this.random.integer(0, instance.latencyMs * 1000) / 1000, () => {
      if (!instance.isCutOff) arrive();
    });
  }

  /** Ends all troubles. */
  becomeWell(): void {
    this.isWell = true;
    for (const instance of this.live) Object.assign(instance, { isCutOff: false, latencyMs: WELL_MS });
  }
}

export type Trouble<W extends World> = (world: W) => void;

/** What may happen to any instance. */
export const TROUBLES: readonly [Trouble<World>, ...Trouble<World>[]] = [
  (world) => world.any()?.machine.stop(world.random.integer(10, 2 * world.plan.ttlMs)),
  (world) => {
    const one = world.any();
    if (one?.isSuspendable === true) one.machine.suspend(world.random.integer(10, 3 * world.plan.ttlMs));
  },
  // Cut off from the registry, again and again, about as long as it takes to expire as a member.
  (world) => {
    const one = world.any();
    const { ttlMs } = world.plan;
    for (let i = world.random.pick([0, 0, 5]); i >= 0 && one !== undefined; i--) {
      world.later(i * 2 * ttlMs, () => (one.isCutOff = true));
      world.later(i * 2 * ttlMs + world.random.integer(ttlMs / 2, 2 * ttlMs), () => (one.isCutOff = false));
    }
  },
  // Slow: replies are late and overtake each other.
  (world) => {
    const one = world.any();
    if (one === undefined) return;
    one.latencyMs = world.random.integer(50, 2 * world.plan.ttlMs);
    world.later(world.random.integer(1000, 10_000), () => (one.latencyMs = world.plan.latencyMs));
  },
];

/** Lives through random troubles, while all instances consume what they can, mostly near the boundaries of windows. */
export async function live<W extends World>(
  world: W,
  troubles: readonly [Trouble<W>, ...Trouble<W>[]],
  ms: number,
): Promise<W> {
  const { random, time } = world;
  const { windowMs } = world.plan;
  const beganMs = time.nowMs;
  const demand = (): void => {
    for (const one of world.live) {
      for (const kind of KINDS) {
        if (random.percent(70)) world.grab(one, kind, 'hot');
        else world.grab(one, kind, random.pick(['hot', 'warm', 'rare']), random.integer(1, 5));
      }
    }
    const { nowMs } = time;
    const boundaryMs = (Math.floor(nowMs / windowMs) + 1) * windowMs;
    const nextMs = random.percent(30) ? boundaryMs + random.integer(-8, 8) : nowMs + random.integer(1, windowMs / 4);
    time.at(Math.max(nextMs, nowMs + 0.5), demand);
  };
  demand();
  for (let i = random.integer(1, 16); i > 0; i--) {
    world.later(random.integer(ms / 4, ms), () => random.pick(troubles)(world));
  }
  await time.runUntil(beganMs + ms);
  return world;
}
