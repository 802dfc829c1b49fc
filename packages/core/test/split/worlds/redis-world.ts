import { seeded, type Machine, type Random } from '@sluice/testkit';
import type { Membership } from '../../../src/split/membership/membership.ts';
import { heartbeats } from '../../../src/split/redis/heartbeats.ts';
import { RegistryModel, type HeartbeatCall } from './registry-model.ts';
import {
  live,
  MAX_INSTANCES,
  TROUBLES,
  WELL_MS,
  World,
  type Instance,
  type Kind,
  type Plan,
  type Trouble,
} from './world.ts';

export interface RedisPlan extends Plan {
  readonly heartbeatMs: number;
  /** The lightest weigh 1. */
  readonly heaviest: number;
}

/** Instances that share limits over a registry as Redis keeps it, with clocks that are all wrong. */
export class RedisWorld extends World<RedisPlan> {
  readonly registry: RegistryModel = new RegistryModel();

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

  /** Lets time pass without troubles until all of the limit is to be had: every member is known, and has its share. */
  async heal(kinds: readonly Kind[]): Promise<void> {
    this.becomeWell();
    const { ttlMs, graceMs, windowMs, units, overdraft, heaviest } = this.plan;
    // An instance sleeps, and its messages are late, for some ttlMs; the share of a bucket's lightest member fills last.
    const bucketMs = ((units + overdraft + MAX_INSTANCES * heaviest) * windowMs) / units + graceMs;
    const shareMs = kinds.includes('bucket') ? bucketMs : 2 * windowMs;
    await this.time.runUntil(this.time.nowMs + 6 * ttlMs + graceMs + shareMs);
  }

  /** A message to the registry and its answer. */
  #call(instance: Instance, call: HeartbeatCall): Promise<unknown> {
    return new Promise((resolve) => {
      this.carry(instance, () => {
        const reply = this.registry.heartbeat(call, Math.floor(this.time.nowMs));
        this.carry(instance, () => instance.machine.run(() => resolve(reply)));
      });
    });
  }
}

const REDIS_TROUBLES: readonly [Trouble<RedisWorld>, ...Trouble<RedisWorld>[]] = [
  ...TROUBLES,
  (world) => world.startAnywhere(),
  (world) => world.endAny(),
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

/** What all instances together are allowed by each kind of policy some time after one more change. */
export async function settle(world: RedisWorld, kinds: readonly Kind[]): Promise<number[]> {
  await world.heal([]);
  const change = world.random.pick(['start', 'end', 'weight']);
  const [one] = world.live;
  if (change === 'end') world.endAny();
  if (change === 'weight' && one !== undefined) one.weight = (one.weight % world.plan.heaviest) + 1;
  if (change === 'start' || world.live.length === 0) world.startAnywhere(2);
  await world.heal(kinds);
  return kinds.map((kind) => world.grabAll(kind, 'fresh'));
}
