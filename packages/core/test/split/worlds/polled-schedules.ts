import { seeded, type Random } from '@sluice/testkit';
import { KINDS, MAX_INSTANCES, RegistryWorld, type Mood, type RegistryPlan } from './polled-world.ts';

function planOf(random: Random, isCalm: boolean): RegistryPlan {
  const everyMs = random.pick([100, 250, 1000]);
  const ttlMs = everyMs * random.integer(2, 5);
  return {
    units: random.pick([1, 3, 10, 37]),
    windowMs: random.pick([500, 1000, 5000, 7919]),
    everyMs,
    ttlMs,
    graceMs: ttlMs + random.pick([100, 1000]),
    latencyMs: random.pick([1, everyMs / 4, ttlMs / 3]),
    calmMs: isCalm ? ttlMs + 50 : 0,
  };
}

type Trouble = (world: RegistryWorld, random: Random) => void;

/** A process begins, and the registry notices sooner or later. */
const begin: Trouble = (world, random) => {
  if (world.live.length >= MAX_INSTANCES) return;
  const weight = random.pick([1, 1, 3, 9]);
  const { id } = world.start();
  world.later(random.integer(0, world.plan.ttlMs), () => {
    world.list(id, weight);
  });
};

/** A process is killed, and the registry notices sooner or later. */
const kill: Trouble = (world, random) => {
  const one = anyOf(world, random);
  if (one === undefined) return;
  world.end(one);
  world.later(random.integer(0, 2 * world.plan.ttlMs), () => {
    world.list(one.id, undefined);
  });
};

/** A process is killed, and another of the same id begins before anybody notices. */
const replace: Trouble = (world, random) => {
  const one = anyOf(world, random);
  if (one === undefined) return;
  world.end(one);
  world.start(one.id);
};

const TROUBLES: readonly [Trouble, ...Trouble[]] = [
  begin,
  begin,
  kill,
  replace,
  (world, random) => {
    const one = anyOf(world, random);
    if (one !== undefined) world.list(one.id, random.integer(1, 9));
  },
  // A check that fails for a moment.
  (world, random) => {
    const one = anyOf(world, random);
    const weight = one === undefined ? undefined : world.truth.at(-1)?.value[one.id];
    if (one === undefined || weight === undefined) return;
    world.list(one.id, undefined);
    world.list(one.id, weight);
  },
  (world, random) => {
    const one = anyOf(world, random);
    if (one === undefined) return;
    one.isCutOff = true;
    world.later(random.integer(1, 3 * world.plan.ttlMs), () => (one.isCutOff = false));
  },
  // Cut off so long that its check fails, and back.
  (world, random) => {
    const one = anyOf(world, random);
    if (one === undefined) return;
    const weight = world.truth.at(-1)?.value[one.id] ?? 1;
    const offMs = random.integer(1, 4 * world.plan.ttlMs);
    one.isCutOff = true;
    world.later(random.integer(0, offMs), () => {
      world.list(one.id, undefined);
    });
    world.later(offMs, () => {
      one.isCutOff = false;
      world.list(one.id, weight);
    });
  },
  (world, random) => {
    anyOf(world, random)?.machine.stop(random.integer(10, 2 * world.plan.ttlMs));
  },
  (world, random) => {
    anyOf(world, random)?.machine.suspend(random.integer(10, 3 * world.plan.ttlMs));
  },
  moodFor('away'),
  moodFor('empty'),
];

const WILD: readonly [Trouble, ...Trouble[]] = [
  ...TROUBLES,
  moodFor('lying'),
  // The registry changes its mind as fast as it is asked.
  (world, random) => {
    const one = anyOf(world, random);
    for (let i = 0; i < 20 && one !== undefined; i++) {
      world.later(i * random.integer(1, world.plan.everyMs), () => {
        world.list(one.id, i % 2 === 0 ? undefined : random.integer(1, 9));
      });
    }
  },
];

function moodFor(mood: Mood): Trouble {
  return (world, random) => {
    world.become(mood);
    world.later(random.integer(10, 3 * world.plan.ttlMs), () => {
      world.become('true');
    });
  };
}

function anyOf(world: RegistryWorld, random: Random): RegistryWorld['live'][number] | undefined {
  return world.live[random.integer(0, world.live.length - 1)];
}

/** All instances consume what they can, again and again, mostly near the boundaries of windows. */
function demand(world: RegistryWorld, random: Random): void {
  const { windowMs } = world.plan;
  const ask = (): void => {
    for (const one of world.live) {
      for (const kind of KINDS) {
        if (random.percent(70)) world.grab(one, kind, 'hot');
        else world.grab(one, kind, random.pick(['hot', 'warm']), random.integer(1, 5));
      }
    }
    const { nowMs } = world.time;
    const boundaryMs = (Math.floor(nowMs / windowMs) + 1) * windowMs;
    const nextMs = random.percent(30) ? boundaryMs + random.integer(-8, 8) : nowMs + random.integer(1, windowMs / 4);
    world.time.at(Math.max(nextMs, nowMs + 0.5), ask);
  };
  ask();
}

/** Lives through one random schedule of troubles. */
export async function live(seed: number, isCalm: boolean): Promise<RegistryWorld> {
  const random = seeded(seed);
  const world = new RegistryWorld(planOf(random, isCalm), random);
  for (let i = random.integer(1, 4); i > 0; i--) begin(world, random);
  const { graceMs, windowMs } = world.plan;
  const lastsMs = random.integer(4, 10) * (graceMs + windowMs);
  demand(world, random);
  for (let i = random.integer(1, 12); i > 0; i--) {
    world.later(random.integer(lastsMs / 4, lastsMs), () => {
      random.pick(isCalm ? TROUBLES : WILD)(world, random);
    });
  }
  await world.time.runUntil(world.time.nowMs + lastsMs);
  return world;
}

/** Ends all troubles, and lets time pass until every live instance has its share by the registry's last answer. */
export async function heal(world: RegistryWorld): Promise<void> {
  const { ttlMs, graceMs, windowMs, everyMs, latencyMs } = world.plan;
  world.heal();
  // The longest pause of a registry that was away, a grace time each for a lapse and for the change, and a window.
  const answeredMs = 11_000 + everyMs + 2 * latencyMs + 3 * ttlMs;
  await world.time.runUntil(world.settledAtMs + answeredMs + 2 * graceMs + 2 * windowMs);
}
