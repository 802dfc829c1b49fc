import { seeded, type Machine, type Random } from '@sluice/testkit';
import type { Membership } from '../../../src/split/membership/membership.ts';
import { heartbeats } from '../../../src/split/redis/heartbeats.ts';
import { RegistryModel, type HeartbeatCall } from './registry-model.ts';
import { live, TROUBLES, WELL_MS, World, type Instance, type Kind, type Plan, type Trouble } from './world.ts';

export interface RedisPlan extends Plan {
  readonly heartbeatMs: number;
  /** The lightest weigh 1. */
  readonly heaviest: number;
}

/** Instances that share limits over a registry as Redis keeps it, with clocks that are all wrong. */
export class RedisWorld extends World<RedisPlan> {
  readonly registry: RegistryModel = new RegistryModel();
  /** Instances that have had a reply of the registry since all was well. */
  readonly #heard = new Set<Instance>();
  /** Messages on their way that were sent before all was well. */
  #old = 0;

  membershipOf(instance: () => Instance, id: string, machine: Machine): Membership {
    const { heartbeatMs, ttlMs } = this.plan;
    const settings = { id, weight: () => instance().weight, heartbeatMs, ttlMs };
    const send = (weight: number, change: string): Promise<unknown> =>
      this.#call(instance(), { id, weight, ttlMs, change });
    return heartbeats(settings, send, machine);
  }

  startAnywhere(weight?: number): void {
    const { random } = this;
    const rate = 1 + random.integer(-900, 900) / 1e6;
    const dateOffsetMs = random.integer(-1, 1) * random.integer(0, 7_200_000);
    this.start(weight ?? (random.percent(60) ? 1 : random.integer(1, this.plan.heaviest)), { rate, dateOffsetMs });
  }

  endAny(): void {
    const one = this.any();
    if (one !== undefined) this.end(one, this.random.pick(['leaves', 'crashes']));
  }

  /** Ends all troubles. Lets time pass until no instance sleeps, and each has had a reply. */
  async heal(): Promise<void> {
    this.becomeWell();
    await this.#until(() => this.#old === 0 && this.live.every((one) => this.#heard.has(one) && one.machine.isAwake));
  }

  /** Lets time pass until the registry lists the live instances with their weights. */
  async listed(): Promise<void> {
    await this.#until(() => this.registry.lists(this.live));
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
    const overAtMs = (this.registry.begun.at(-1)?.atMs ?? NaN) + graceMs;
    const dueMs = {
      fixed: () => Math.ceil(overAtMs / windowMs) * windowMs,
      sliding: () => overAtMs + windowMs,
      bucket: () => this.#filledAtMs() + graceMs,
    }[kind]();
    return dueMs + WELL_MS + 3 + (1.1 * heartbeatMs + 2 * WELL_MS) / 500;
  }

  /** When the buckets of every epoch but the last are full again: the lightest takes longest to pay for its last unit. */
  #filledAtMs(): number {
    const { windowMs, units, overdraft, ttlMs } = this.plan;
    const { begun } = this.registry;
    let [atMs, longestMs] = [-Infinity, 0];
    // After the end of an epoch it takes as long as in that epoch, or in any later one.
    for (const [i, { spread }] of [...begun.entries()].toReversed()) {
      longestMs = Math.max(longestMs, Math.ceil(((units + overdraft + spread) * windowMs) / units) + 1);
      // An instance that has missed what came next counts it on until the epoch that it has heard of.
      const endMs = begun[i + 1]?.atMs ?? -Infinity;
      const heard = begun.findLast((later) => later.atMs <= endMs + 2 * ttlMs);
      atMs = Math.max(atMs, Math.max(endMs, heard?.atMs ?? endMs) + longestMs);
    }
    return atMs;
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

  /** A message to the registry and its answer. */
  #call(instance: Instance, call: HeartbeatCall): Promise<unknown> {
    const { isWell } = this;
    return new Promise((resolve) => {
      this.carry(instance, () => {
        const reply = this.registry.heartbeat(call, Math.floor(this.time.nowMs));
        this.carry(instance, () => {
          instance.machine.run(() => {
            if (isWell) this.#heard.add(instance);
            resolve(reply);
          });
        });
      });
    });
  }

  override carry(instance: Instance, arrive: () => void): void {
    if (this.isWell || instance.isCutOff) {
      super.carry(instance, arrive);
      return;
    }
    this.#old++;
    this.time.after(this.random.integer(0, instance.latencyMs * 1000) / 1000, () => {
      this.#old--;
      if (!instance.isCutOff) arrive();
    });
  }
}

const REDIS_TROUBLES: readonly [Trouble<RedisWorld>, ...Trouble<RedisWorld>[]] = [
  ...TROUBLES,
  (world) => {
    world.startAnywhere();
  },
  (world) => {
    world.endAny();
  },
  // One replaces another.
  (world) => {
    world.endAny();
    world.startAnywhere();
  },
  // A rolling restart, one after the other.
  (world) => {
    world.live.forEach((one, i) => {
      world.later(i * world.random.integer(50, 1000), () => {
        if (!world.live.includes(one)) return;
        world.end(one, world.random.pick(['leaves', 'crashes']));
        world.startAnywhere(one.weight);
      });
    });
  },
  (world) => {
    const one = world.any();
    if (one?.isSuspendable === false) one.machine.setDate(world.random.integer(-5000, 5000));
  },
  (world) => {
    const one = world.any();
    if (one !== undefined) one.weight = world.random.integer(1, world.plan.heaviest);
  },
  (world) => {
    if (world.random.percent(30)) world.registry.forget();
  },
];

/** Random limits and times of a registry. */
export function planOf(random: Random, heaviest: number): RedisPlan {
  const heartbeatMs = random.pick([100, 250, 1000]);
  const ttlMs = heartbeatMs * random.integer(2, 4);
  return {
    units: random.pick([1, 3, 10, 37]),
    windowMs: random.pick([500, 1000, 5000, 7919]),
    overdraft: random.pick([0, 0, 5]),
    ttlMs,
    graceMs: ttlMs + random.pick([1, 100, 1000]),
    latencyMs: WELL_MS,
    heartbeatMs,
    heaviest,
  };
}

/** Lives through one random schedule of troubles, with weights up to the heaviest. */
export async function liveOnRedis(seed: number, heaviest: number): Promise<RedisWorld> {
  const random = seeded(seed);
  const world = new RedisWorld(planOf(random, heaviest), random);
  for (let i = random.integer(1, 5); i > 0; i--) world.startAnywhere();
  return live(world, REDIS_TROUBLES, random.integer(4, 12) * (world.plan.graceMs + world.plan.windowMs));
}

/** What all instances together are allowed by each kind of policy when all of the limit is due after one more change. */
export async function settle(world: RedisWorld, kinds: readonly Kind[]): Promise<number[]> {
  await world.heal();
  const change = world.random.pick(['start', 'end', 'weight']);
  const [one] = world.live;
  if (change === 'end') world.endAny();
  if (change === 'weight' && one !== undefined) one.weight = (one.weight % world.plan.heaviest) + 1;
  if (change === 'start' || world.live.length === 0) world.startAnywhere(2);
  await world.listed();
  const allowed: number[] = [];
  for (const kind of kinds) {
    const dueMs = world.dueAtMs(kind);
    if (dueMs < world.time.nowMs) throw new Error(`too late for ${kind} to be looked at when it is due`);
    await world.time.runUntil(dueMs);
    allowed.push(world.grabAll(kind, 'fresh'));
  }
  return allowed;
}
