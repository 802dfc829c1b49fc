import {
  Machine,
  mostBeyondRefill,
  mostPerInterval,
  mostPerWindow,
  VirtualTime,
  type Admission,
  type Random,
} from '@sluice/testkit';
import { fixedWindow, slidingWindow, tokenBucket, type Policy } from '../../../src/index.ts';
import { ALLOWED } from '../../../src/program/decide.ts';
import { heartbeats } from '../../../src/split/redis/heartbeats.ts';
import { createSplitStore, type SplitStore } from '../../../src/split/split-store.ts';
import { RegistryModel } from './registry-model.ts';

/** What all instances of a world share. */
export interface WorldPlan {
  readonly units: number;
  readonly windowMs: number;
  readonly heartbeatMs: number;
  readonly ttlMs: number;
  readonly graceMs: number;
  readonly overdraft: number;
  /** The lightest weigh 1. */
  readonly heaviest: number;
}

/** One process: a store of its own, on a machine of its own, with a way to the registry. */
class Instance {
  readonly machine: Machine;
  readonly store: SplitStore;
  /** The shortest and longest latency of a message. */
  latencyMs: readonly [least: number, most: number] = [0, WELL_MS];
  isCutOff = false;
  weight: number;
  readonly id: string;
  /** Whether it has had a reply of the registry since the troubles ended. */
  isHeard = false;

  constructor(id: string, machine: Machine, weight: number, makeStore: (instance: Instance) => SplitStore) {
    this.id = id;
    this.machine = machine;
    this.weight = weight;
    this.store = makeStore(this);
  }
}

/** At most so many live at once, and as many that are gone are not noticed to be yet. */
export const MAX_INSTANCES = 7;

export const KINDS = ['fixed', 'sliding', 'bucket'] as const;
export type Kind = (typeof KINDS)[number];
/** The longest latency of a message without troubles. */
const WELL_MS = 5;
/** A whole second, so that windows begin as people expect. */
const START_MS = 1_795_262_400_000;

/** Instances that come and go, a registry, and requests, in virtual time: and what was allowed. */
export class World {
  readonly plan: WorldPlan;
  readonly time: VirtualTime = new VirtualTime(START_MS);
  readonly registry: RegistryModel = new RegistryModel();
  readonly #random: Random;
  readonly #policies: Readonly<Record<Kind, Policy>>;
  readonly #admissions = new Map<string, Admission[]>();
  instances: Instance[] = [];
  #made = 0;
  #isWell = false;
  /** Messages on their way that were sent before all was well. */
  #old = 0;

  constructor(plan: WorldPlan, random: Random) {
    this.plan = plan;
    this.#random = random;
    const { units, windowMs, overdraft } = plan;
    const window = `${String(windowMs)}ms` as const;
    this.#policies = {
      fixed: fixedWindow({ limit: units, window, align: 'clock' }),
      sliding: slidingWindow({ limit: units, window }),
      bucket: tokenBucket({ capacity: units, refill: units, every: window, overdraft }),
    };
  }

  start(weight = 1): Instance {
    const random = this.#random;
    const machine = new Machine(this.time, {
      rate: 1 + random.integer(-900, 900) / 1e6,
      dateOffsetMs: random.integer(-1, 1) * random.integer(0, 7_200_000),
    });
    const instance = new Instance(`i${String(++this.#made)}`, machine, weight, (self) => this.#storeOf(self));
    this.instances.push(instance);
    for (const kind of KINDS) instance.store.checkPolicy(this.#policies[kind]);
    return instance;
  }

  /** Ends a process, with or without a last message. */
  end(instance: Instance, how: 'leaves' | 'crashes'): void {
    this.instances = this.instances.filter((other) => other !== instance);
    if (how === 'crashes') instance.machine.isDead = true;
    else void instance.store.close();
  }

  /** Asks an instance for one unit after the other of a key, until it denies. */
  grab(instance: Instance, kind: Kind, key: string, most = Infinity): number {
    if (!instance.machine.isAwake) return 0;
    const ask = { key: `{${key}}:${kind}`, policy: this.#policies[kind], cost: 1 };
    let allowed = 0;
    try {
      while (allowed < most) {
        if (instance.store.perform('take', [ask]).figures[0]?.[ALLOWED] !== 1) break;
        allowed++;
      }
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'SLUICE_SPLIT_UNCONFIRMED') throw error;
    }
    if (allowed > 0) {
      const place = `${kind} ${key}`;
      const admissions = this.#admissions.get(place) ?? [];
      this.#admissions.set(place, admissions);
      admissions.push({ atMs: this.time.nowMs, units: allowed });
    }
    return allowed;
  }

  /** The same for all instances at once. */
  grabAll(kind: Kind, key: string): number {
    return this.instances.reduce((sum, instance) => sum + this.grab(instance, kind, key), 0);
  }

  /** Per kind of policy, how much more than it allows was allowed of any key; 0 when none was. */
  excess(): Readonly<Record<Kind, number>> {
    const { units, windowMs, overdraft } = this.plan;
    const excess = { fixed: 0, sliding: 0, bucket: 0 };
    const rate = units / windowMs;
    for (const [place, admissions] of this.#admissions) {
      const kind = place.split(' ')[0] as Kind;
      const over = {
        fixed: () => mostPerWindow(admissions, windowMs) - units,
        sliding: () => mostPerInterval(admissions, windowMs) - units,
        // Buckets count in whole milliseconds.
        bucket: () => Math.floor(mostBeyondRefill(admissions, rate) - units - overdraft - rate),
      }[kind]();
      excess[kind] = Math.max(excess[kind], over);
    }
    return excess;
  }

  /**
   * When all of the limit is to be had at the latest, if the last epoch that the registry began is the last one.
   *
   * Heartbeats add nothing to that: all instances learn of the epoch within the grace time, and of the instant at
   * which it began. What they leave is how far the clock that is certain is behind the registry's: as long as an
   * answer is under way, the roundings, and two thousandths (drift, and as much allowed for) of what has passed since
   * the last one.
   */
  dueAtMs(kind: Kind): number {
    const { windowMs, graceMs, heartbeatMs } = this.plan;
    const begunAtMs = this.registry.begun.at(-1)?.atMs ?? NaN;
    const behindMs = WELL_MS + 3 + (heartbeatMs + 2 * WELL_MS) / 500;
    const dueMs = {
      fixed: () => Math.ceil((begunAtMs + graceMs) / windowMs) * windowMs,
      sliding: () => begunAtMs + graceMs + windowMs,
      bucket: () => this.#filledAtMs() + graceMs,
    }[kind]();
    return dueMs + behindMs;
  }

  /**
   * When the buckets of every epoch but the last are full again: the lightest takes longest to pay for its last unit.
   */
  #filledAtMs(): number {
    const { windowMs, units, overdraft } = this.plan;
    const { begun } = this.registry;
    let [atMs, longestMs, overAtMs] = [-Infinity, 0, -Infinity];
    // After the end of an epoch it takes as long as in that epoch, or in any later one.
    for (const epoch of [...begun].reverse()) {
      longestMs = Math.max(longestMs, Math.ceil(((units + overdraft + epoch.spread) * windowMs) / units) + 1);
      atMs = Math.max(atMs, overAtMs + longestMs);
      overAtMs = epoch.atMs;
    }
    return Math.max(atMs, overAtMs + longestMs);
  }

  /** Lets something happen to them, unless all is well by then. */
  later(ms: number, happen: () => void): void {
    this.time.after(ms, () => {
      if (!this.#isWell) happen();
    });
  }

  /** Ends all troubles. Lets time pass until no instance sleeps, and each has had a reply. */
  async heal(): Promise<void> {
    this.#isWell = true;
    for (const instance of this.instances) {
      instance.isCutOff = false;
      instance.latencyMs = [0, WELL_MS];
    }
    await this.#until(
      () => this.#old === 0 && this.instances.every(({ isHeard, machine }) => isHeard && machine.isAwake),
    );
  }

  /** Lets time pass until the registry lists the live instances with their weights. */
  async listed(): Promise<void> {
    await this.#until(() => this.registry.lists(this.instances));
  }

  /** What does not come about in this time never does. */
  async #until(isSo: () => boolean): Promise<void> {
    const { heartbeatMs, ttlMs } = this.plan;
    const endMs = this.time.nowMs + 20 * ttlMs;
    while (!isSo()) {
      if (this.time.nowMs > endMs) throw new Error(`not so within ${String(20 * ttlMs)} ms: ${String(isSo)}`);
      await this.time.runUntil(this.time.nowMs + heartbeatMs / 10);
    }
  }

  #storeOf(instance: Instance): SplitStore {
    const { heartbeatMs, ttlMs, graceMs } = this.plan;
    const { id } = instance;
    const send = (weight: number, mark: string): Promise<unknown> => this.#call(instance, { id, weight, ttlMs, mark });
    const settings = { id, weight: () => instance.weight, heartbeatMs, ttlMs };
    return createSplitStore({ membership: heartbeats(settings, send, instance.machine), graceMs }, instance.machine);
  }

  /** A message to the registry and its answer, each of which may be late or lost. */
  #call(instance: Instance, call: Parameters<RegistryModel['heartbeat']>[0]): Promise<unknown> {
    const isWell = this.#isWell;
    return new Promise((resolve) => {
      this.#carry(instance, () => {
        const reply = this.registry.heartbeat(call, Math.floor(this.time.nowMs));
        this.#carry(instance, () => {
          instance.machine.run(() => {
            instance.isHeard ||= isWell;
            resolve(reply);
          });
        });
      });
    });
  }

  #carry(instance: Instance, arrive: () => void): void {
    if (instance.isCutOff) return;
    const [least, most] = instance.latencyMs;
    const isOld = !this.#isWell;
    if (isOld) this.#old++;
    this.time.after(this.#random.integer(least * 1000, most * 1000) / 1000, () => {
      if (isOld) this.#old--;
      if (!instance.isCutOff) arrive();
    });
  }
}
