import { fixedWindow, slidingWindow, tokenBucket, type Limit, type Policy, type SplitStore } from '@sluice/core';
import { Heartbeats, createSplitStore, encodeSubject, keyScope, namePolicies } from '@sluice/core/internal';
import type { Random } from '@sluice/testkit';
import { mostBeyondRefill, mostPerInterval, mostPerWindow, type Admission } from './bounds.ts';
import { Machine } from './machine.ts';
import { RegistryModel } from './registry-model.ts';
import { VirtualTime } from './virtual-time.ts';

/** What everybody shares in a world. */
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
  /** How long a message takes on its way, at least and at most. */
  latencyMs: readonly [least: number, most: number] = [0, 5];
  isCutOff = false;
  weight: number;

  constructor(machine: Machine, weight: number, makeStore: (instance: Instance) => SplitStore) {
    this.machine = machine;
    this.weight = weight;
    this.store = makeStore(this);
  }
}

/** At most so many live at once, and as many that are gone are not noticed to be yet. */
export const MOST_INSTANCES = 7;

const KINDS = ['fixed', 'sliding', 'bucket'] as const;
type Kind = (typeof KINDS)[number];
/** A whole second, so that windows begin as people expect. */
const START_MS = 1_795_262_400_000;

/** Instances that come and go, a registry, and requests, in virtual time: and what was admitted. */
export class World {
  readonly plan: WorldPlan;
  readonly time: VirtualTime = new VirtualTime(START_MS);
  readonly registry: RegistryModel = new RegistryModel();
  readonly #random: Random;
  readonly #limits: Readonly<Record<Kind, Limit>>;
  readonly #admissions = new Map<string, Admission[]>();
  instances: Instance[] = [];
  #made = 0;
  #isWell = false;

  constructor(plan: WorldPlan, random: Random) {
    this.plan = plan;
    this.#random = random;
    const { units, windowMs, overdraft } = plan;
    this.#limits = {
      fixed: limitOf('fixed', fixedWindow({ limit: units, window: windowMs, align: 'clock' })),
      sliding: limitOf('sliding', slidingWindow({ limit: units, window: windowMs })),
      bucket: limitOf('bucket', tokenBucket({ capacity: units, refill: units, every: windowMs, overdraft })),
    };
  }

  start(weight = 1): Instance {
    const random = this.#random;
    const machine = new Machine(this.time, {
      rate: 1 + random.integer(-900, 900) / 1e6,
      dateOffsetMs: random.integer(-1, 1) * random.integer(0, 7_200_000),
    });
    const instance = new Instance(machine, weight, (self) => this.#storeOf(self));
    this.instances.push(instance);
    for (const kind of KINDS) instance.store.checkLimit(this.#limits[kind]);
    return instance;
  }

  /** Ends a process: it says so, or not. */
  end(instance: Instance, how: 'leaves' | 'crashes'): void {
    this.instances = this.instances.filter((other) => other !== instance);
    if (how === 'crashes') instance.machine.isDead = true;
    else void instance.store.close();
  }

  /** Asks an instance for one unit after the other of a key, until it refuses. */
  grab(instance: Instance, kind: Kind, key: string, most = Infinity): number {
    if (!instance.machine.isAwake) return 0;
    const part = { limit: this.#limits[kind], subject: encodeSubject(key), cost: 1 };
    let admitted = 0;
    try {
      while (admitted < most) {
        const [answer] = instance.store.perform([{ op: 'consume', parts: [part] }]);
        if (answer?.parts[0]?.policies[0]?.allowed !== true) break;
        admitted++;
      }
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'SLUICE_SPLIT_UNCONFIRMED') throw error;
    }
    if (admitted > 0) {
      const place = `${kind} ${key}`;
      const admissions = this.#admissions.get(place) ?? [];
      this.#admissions.set(place, admissions);
      admissions.push({ atMs: this.time.nowMs, units: admitted });
    }
    return admitted;
  }

  /** The same of everybody at once. */
  grabAll(kind: Kind, key: string): number {
    return this.instances.reduce((sum, instance) => sum + this.grab(instance, kind, key), 0);
  }

  /** Per kind of policy, how much more than it allows was admitted of any key; 0 when none was. */
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

  /** How long after the last change the shares add up to the limit again, by the slowest kind of policy. */
  settledAfterMs(): number {
    const { windowMs, units, overdraft, ttlMs, graceMs, heartbeatMs, heaviest } = this.plan;
    // The lightest of all that there were takes longest to pay for its last unit.
    const fillMs = ((units + overdraft + 2 * MOST_INSTANCES * heaviest) * windowMs) / units;
    const asleepMs = 3 * ttlMs;
    return asleepMs + ttlMs + graceMs + Math.max(windowMs, fillMs) + 4 * heartbeatMs;
  }

  /** Lets something happen to them, unless all is well by then. */
  later(ms: number, happen: () => void): void {
    this.time.after(ms, () => {
      if (!this.#isWell) happen();
    });
  }

  /** All is well from now on, but that some are still asleep. */
  heal(): void {
    this.#isWell = true;
    for (const instance of this.instances) {
      instance.isCutOff = false;
      instance.latencyMs = [0, 5];
    }
  }

  #storeOf(instance: Instance): SplitStore {
    const { heartbeatMs, ttlMs, graceMs } = this.plan;
    const id = `i${String(++this.#made)}`;
    const send = (weight: number, mark: string): Promise<unknown> => this.#call(instance, { id, weight, ttlMs, mark });
    const settings = { id, weight: () => instance.weight, heartbeatMs, ttlMs };
    return createSplitStore(
      { membership: new Heartbeats(settings, send, instance.machine), graceMs },
      instance.machine,
    );
  }

  /** A message to the registry and its answer, each of which may be late or lost. */
  #call(instance: Instance, call: Parameters<RegistryModel['heartbeat']>[0]): Promise<unknown> {
    return new Promise((resolve) => {
      this.#carry(instance, () => {
        const reply = this.registry.heartbeat(call, Math.floor(this.time.nowMs));
        this.#carry(instance, () => {
          instance.machine.run(() => {
            resolve(reply);
          });
        });
      });
    });
  }

  #carry(instance: Instance, arrive: () => void): void {
    if (instance.isCutOff) return;
    const [least, most] = instance.latencyMs;
    this.time.after(this.#random.integer(least * 1000, most * 1000) / 1000, () => {
      if (!instance.isCutOff) arrive();
    });
  }
}

function limitOf(name: string, policy: Policy): Limit {
  const policies = namePolicies(policy, name);
  return { policies, scope: keyScope(name, policies) };
}
