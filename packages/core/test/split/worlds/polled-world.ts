import { seeded, type Machine } from '@sluice/testkit';
import type { Membership, Members } from '../../../src/split/membership/membership.ts';
import { poll } from '../../../src/split/membership/poll-membership.ts';
import { live, TROUBLES, World, type Instance, type Plan, type Trouble } from './world.ts';

export interface PolledPlan extends Plan {
  readonly everyMs: number;
  /** The least time between two changes of the registry. */
  readonly calmMs: number;
}

/** How the registry answers: truly, not at all, or without members. */
type Mood = 'true' | 'away' | 'empty';

/** Instances that poll a registry without time and history. Their clocks are right. */
export class PolledWorld extends World<PolledPlan> {
  truth: Members = {};
  mood: Mood = 'true';
  #nextChangeMs = this.time.nowMs;

  membershipOf(instance: () => Instance, id: string, machine: Machine): Membership {
    const { everyMs, ttlMs } = this.plan;
    return poll(id, () => this.#answer(instance()), { everyMs, ttlMs }, machine);
  }

  /** A process begins, and the registry notices sooner or later. */
  begin(): void {
    this.start(this.random.pick([1, 1, 3, 9]));
    const { id, weight } = this.all.at(-1) as Instance;
    this.later(this.random.integer(0, this.plan.ttlMs), () => this.list(id, weight));
  }

  /** The registry has noticed: an instance has this weight from now on, or as soon as changes are far enough apart. */
  list(id: string, weight: number | undefined): void {
    this.#nextChangeMs = Math.max(this.#nextChangeMs, this.time.nowMs);
    this.time.at(this.#nextChangeMs, () => {
      const others = Object.entries(this.truth).filter(([other]) => other !== id);
      this.truth = Object.fromEntries(weight === undefined ? others : [...others, [id, weight]]);
    });
    this.#nextChangeMs += this.plan.calmMs;
  }

  /** Ends all troubles, and lets time pass until every live instance has its share by the registry's last answer. */
  async heal(): Promise<void> {
    if (this.live.length === 0) this.begin();
    this.becomeWell();
    this.mood = 'true';
    for (const { id } of this.all) this.list(id, this.live.some((one) => one.id === id) ? 1 : undefined);
    const { ttlMs, graceMs, windowMs, everyMs } = this.plan;
    // The longest pause of a registry that was away, a grace time each for a lapse and for the change, and a window.
    await this.time.runUntil(this.#nextChangeMs + 12_000 + 2 * everyMs + 3 * ttlMs + 2 * graceMs + 2 * windowMs);
  }

  #answer(instance: Instance): Promise<Members> {
    return new Promise((resolve, reject) => {
      this.carry(instance, () => {
        const { mood, random } = this;
        if (mood === 'away' && random.percent(50)) return; // the request hangs
        const members = mood === 'empty' ? {} : this.truth;
        this.carry(instance, () => {
          instance.machine.run(() => {
            if (mood === 'away') reject(new Error('the registry is away'));
            else resolve(members);
          });
        });
      });
    });
  }
}

function moodFor(mood: Mood): Trouble<PolledWorld> {
  return (world) => {
    world.mood = mood;
    world.later(world.random.integer(10, 3 * world.plan.ttlMs), () => (world.mood = 'true'));
  };
}

const ALL: readonly [Trouble<PolledWorld>, ...Trouble<PolledWorld>[]] = [
  ...TROUBLES,
  moodFor('away'),
  moodFor('empty'),
  (world) => world.begin(),
  // A process is killed, and the registry notices sooner or later.
  (world) => {
    const one = world.any();
    if (one === undefined) return;
    world.end(one, 'crashes');
    world.later(world.random.integer(0, 2 * world.plan.ttlMs), () => world.list(one.id, undefined));
  },
  // A process is killed, and another of the same id begins before anybody notices.
  (world) => {
    const one = world.any();
    if (one === undefined) return;
    world.end(one, 'crashes');
    world.start(one.weight, undefined, one.id);
  },
  (world) => {
    const one = world.any();
    if (one !== undefined) world.list(one.id, world.random.integer(1, 9));
  },
  // A check that fails for a while.
  (world) => {
    const one = world.any();
    if (one === undefined) return;
    world.list(one.id, undefined);
    world.later(world.random.integer(0, 2 * world.plan.ttlMs), () => world.list(one.id, one.weight));
  },
];

/** Lives through one random schedule of troubles. */
export async function livePolling(seed: number): Promise<PolledWorld> {
  const random = seeded(seed);
  const everyMs = random.pick([100, 250, 1000]);
  const ttlMs = everyMs * random.integer(2, 5);
  const plan: PolledPlan = {
    units: random.pick([1, 3, 10, 37]),
    windowMs: random.pick([500, 1000, 5000, 7919]),
    overdraft: 0,
    ttlMs,
    graceMs: ttlMs + random.pick([100, 1000]),
    latencyMs: random.pick([1, everyMs / 4, ttlMs / 3]),
    everyMs,
    calmMs: ttlMs + 50,
  };
  const world = new PolledWorld(plan, random);
  for (let i = random.integer(1, 4); i > 0; i--) world.begin();
  return live(world, ALL, random.integer(4, 10) * (plan.graceMs + plan.windowMs));
}
