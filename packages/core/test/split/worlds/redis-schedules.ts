import { seeded, type Random } from '@sluice/testkit';
import { KINDS, MAX_INSTANCES, World, type Kind, type WorldPlan } from './redis-world.ts';

/** Random limits and times of a registry. */
export function planOf(random: Random, heaviest: number): WorldPlan {
  const heartbeatMs = random.pick([100, 250, 1000]);
  const ttlMs = heartbeatMs * random.integer(2, 4);
  return {
    units: random.pick([1, 3, 10, 37]),
    windowMs: random.pick([500, 1000, 5000, 7919]),
    heartbeatMs,
    ttlMs,
    graceMs: ttlMs + random.pick([1, 100, 1000]),
    overdraft: random.pick([0, 0, 5]),
    heaviest,
  };
}

type Trouble = (world: World, random: Random) => void;

const anyInstance = (world: World, random: Random) => world.instances[random.integer(0, world.instances.length - 1)];

/** What may happen to instances that share limits. */
const TROUBLES: readonly [Trouble, ...Trouble[]] = [
  (world, random) => {
    if (world.instances.length < MAX_INSTANCES)
      world.start(random.percent(60) ? 1 : random.integer(1, world.plan.heaviest));
  },
  (world, random) => {
    const one = anyInstance(world, random);
    if (one !== undefined) world.end(one, random.pick(['leaves', 'crashes']));
  },
  // One replaces another.
  (world, random) => {
    const one = anyInstance(world, random);
    if (one === undefined) return;
    world.end(one, random.pick(['leaves', 'crashes']));
    world.start(one.weight);
  },
  // A rolling restart, one after the other.
  (world, random) => {
    world.instances.forEach((one, i) => {
      world.later(i * random.integer(50, 1000), () => {
        if (!world.instances.includes(one)) return;
        world.end(one, random.pick(['leaves', 'crashes']));
        world.start(one.weight);
      });
    });
  },
  // Cut off from the registry, again and again, about as long as it takes to expire as a member.
  (world, random) => {
    const one = anyInstance(world, random);
    const times = random.pick([1, 1, 6]);
    const { ttlMs } = world.plan;
    for (let i = 0; i < times && one !== undefined; i++) {
      const fromMs = i * 2 * ttlMs;
      world.later(fromMs, () => (one.isCutOff = true));
      world.later(fromMs + random.integer(ttlMs / 2, 2 * ttlMs), () => (one.isCutOff = false));
    }
  },
  // Slow: replies are late and overtake each other.
  (world, random) => {
    const one = anyInstance(world, random);
    if (one === undefined) return;
    one.latencyMs = [0, random.integer(50, 2 * world.plan.ttlMs)];
    world.later(random.integer(1000, 10_000), () => (one.latencyMs = [0, 5]));
  },
  (world, random) => {
    anyInstance(world, random)?.machine.stop(random.integer(10, 2 * world.plan.ttlMs));
  },
  (world, random) => {
    anyInstance(world, random)?.machine.suspend(random.integer(10, 3 * world.plan.ttlMs));
  },
  (world, random) => {
    anyInstance(world, random)?.machine.setDate(random.integer(-5000, 5000));
  },
  (world, random) => {
    const one = anyInstance(world, random);
    if (one !== undefined) one.weight = random.integer(1, world.plan.heaviest);
  },
  (world, random) => {
    if (random.percent(30)) world.registry.forget();
  },
];

/** All instances consume what they can, again and again, mostly near the boundaries of windows. */
function demand(world: World, random: Random): void {
  const { windowMs } = world.plan;
  const keys = ['hot', 'warm', 'rare'] as const;
  const ask = (): void => {
    for (const one of world.instances) {
      for (const kind of KINDS) {
        if (random.percent(70)) world.grab(one, kind, 'hot');
        else world.grab(one, kind, random.pick(keys), random.integer(1, 5));
      }
    }
    const nowMs = world.time.nowMs;
    const boundaryMs = (Math.floor(nowMs / windowMs) + 1) * windowMs;
    const nextMs = random.percent(30) ? boundaryMs + random.integer(-8, 8) : nowMs + random.integer(1, windowMs / 4);
    world.time.at(Math.max(nextMs, nowMs + 0.5), ask);
  };
  ask();
}

/** Lives through one random schedule of troubles, with weights up to the heaviest. */
async function live(seed: number, heaviest: number): Promise<World> {
  const random = seeded(seed);
  const world = new World(planOf(random, heaviest), random);
  const beganMs = world.time.nowMs;
  for (let i = random.integer(1, 5); i > 0; i--) world.start(random.percent(60) ? 1 : random.integer(1, heaviest));
  const lastsMs = random.integer(4, 12) * (world.plan.graceMs + world.plan.windowMs);
  demand(world, random);
  for (let i = random.integer(1, 16); i > 0; i--) {
    world.later(random.integer(lastsMs / 4, lastsMs), () => {
      random.pick(TROUBLES)(world, random);
    });
  }
  await world.time.runUntil(beganMs + lastsMs);
  return world;
}

/** One more change when all has been well for a while. */
const LAST_CHANGES: readonly [Trouble, ...Trouble[]] = [
  (world) => void world.start(2),
  (world) => {
    const [one] = world.instances;
    if (one !== undefined) one.weight = (one.weight % world.plan.heaviest) + 1;
  },
  (world, random) => {
    const [one] = world.instances;
    if (one !== undefined) world.end(one, random.pick(['leaves', 'crashes']));
    if (world.instances.length === 0) world.start();
  },
];

/** A world in which a law was broken. */
export interface Broken {
  readonly seed: number;
  readonly plan: WorldPlan;
  readonly [fact: string]: unknown;
}

/** Those of so many worlds in which more than the limit was allowed. */
export async function worldsOfExcess(seed: number, worlds: number, heaviest: number): Promise<Broken[]> {
  const broken: Broken[] = [];
  for (let i = 0; i < worlds; i++) {
    const world = await live(seed + i, heaviest);
    const excess = world.excess();
    if (KINDS.some((kind) => excess[kind] > 0)) broken.push({ seed: seed + i, plan: world.plan, excess });
  }
  return broken;
}

/**
 * Those of so many worlds in which some of the limit is still missing when it is due after one more change, or more
 * than the limit was allowed before.
 */
export async function worldsUnsettled(
  seed: number,
  worlds: number,
  heaviest: number,
  kinds: readonly Kind[],
): Promise<Broken[]> {
  const broken: Broken[] = [];
  for (let i = 0; i < worlds; i++) {
    const world = await live(seed + i, heaviest);
    const allowed = await settle(world, seeded(seed + i), kinds);
    const excess = world.excess();
    const isBroken = allowed.some((sum) => sum !== world.plan.units) || KINDS.some((kind) => excess[kind] > 0);
    if (isBroken) broken.push({ seed: seed + i, plan: world.plan, kinds, allowed, excess });
  }
  return broken;
}

/** What all instances together are allowed by each kind of policy when all of the limit is due. */
async function settle(world: World, random: Random, kinds: readonly Kind[]): Promise<number[]> {
  if (world.instances.length === 0) world.start();
  await world.heal();
  random.pick(LAST_CHANGES)(world, random);
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
