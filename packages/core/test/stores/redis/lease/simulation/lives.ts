import { seeded, type Random, VirtualTime } from '@sluice/testkit';
import { KINDS, World, type Process, type WorldPlan } from './world.ts';

/** A whole second, so that windows begin as people expect. */
const START_MS = 1_795_262_400_000;
const MOST_PROCESSES = 4;

function planOf(random: Random): WorldPlan {
  const windowMs = random.pick([100, 300, 1000, 2500]);
  const maxAgeMs = random.pick([20, 100, 500]);
  const units = random.pick([40, 200, 600]);
  return { kind: random.pick(KINDS), units, windowMs, maxAgeMs, drift: 0.999e-3 };
}

/** Something that happens to a process. */
function mishap(world: World, processes: Process[], random: Random, { isSuspended }: { isSuspended: boolean }): void {
  const place = random.integer(0, processes.length - 1);
  const process = processes[place] as Process;
  const ms = random.pick([random.integer(1, 60), random.integer(1, 1500)]);
  switch (random.pick(['stop', 'suspend', 'crash', 'slow', 'lossy', 'well', 'date', 'close'])) {
    case 'stop':
      process.machine.stop(ms);
      break;
    case 'suspend':
      if (isSuspended) process.machine.suspend(ms);
      // The date of a machine that is suspended tells of it: it is not set back then.
      else process.machine.setDate(-ms);
      break;
    case 'crash':
      process.machine.isDead = true;
      processes[place] = world.start();
      break;
    case 'slow':
      process.latencyMs = [0, random.pick([20, 90, 400])];
      break;
    case 'lossy':
      process.lossPercent = 30;
      break;
    case 'well':
      process.latencyMs = [0, 2];
      process.lossPercent = 0;
      break;
    case 'date':
      if (process.machine.isAwake) process.machine.setDate(ms);
      break;
    case 'close':
      process.machine.run(() => {
        process.leases.close();
      });
      processes[place] = world.start();
  }
}

/** Processes ask, each as often as it pleases, and what can happen to them happens. */
export async function live(seed: number): Promise<World> {
  const random = seeded(seed);
  const plan = planOf(random);
  const time = new VirtualTime(START_MS + random.integer(0, plan.windowMs * 1000) / 1000);
  const world = new World(plan, random, time);
  const processes = Array.from({ length: random.integer(1, MOST_PROCESSES) }, () => world.start());
  const endMs = time.nowMs + Math.min(6 * plan.windowMs, 3000);
  const every = (nextMs: () => number, act: () => void): void => {
    time.after(nextMs(), () => {
      act();
      if (time.nowMs < endMs) every(nextMs, act);
    });
  };

  const perMs = plan.units / world.refillMs / processes.length;
  const mostCost = random.pick([1, 1, 7]);
  const hasTides = plan.kind === 'bucket' || random.percent(40);
  for (const place of processes.keys()) {
    let demand = random.pick([0.3, 0.8, 2]);
    const ask = (): void => {
      if (random.percent(2)) demand = random.pick(hasTides ? [0.1, 0.8] : [0, 0.3, 1, 3, 20]);
      const burst = random.integer(0, Math.ceil(4 * demand * perMs)) / mostCost;
      for (let i = 0; i < burst; i++) world.ask(processes[place] as Process, random.integer(1, mostCost));
    };
    every(() => random.integer(0, 4000) / 1000, ask);
  }
  // All processes at once, for more than there is.
  if (hasTides) {
    const flood = (): void => {
      for (const process of processes) for (let i = 0; i < plan.units; i++) world.ask(process, 1);
    };
    every(() => random.integer(plan.maxAgeMs, 3 * world.refillMs), flood);
  }
  const isSuspended = random.percent(50);
  if (random.percent(80)) {
    every(
      () => random.integer(1, 400),
      () => {
        mishap(world, processes, random, { isSuspended });
      },
    );
  }
  await time.runUntil(endMs);
  return world;
}

/** The worlds, of so many, in which a promise was broken. */
export async function brokenWorlds(first: number, count: number): Promise<readonly string[]> {
  const broken: string[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const world = await live(seed);
    for (const what of world.broken()) broken.push(`${String(seed)} (${JSON.stringify(world.plan)}): ${what}`);
  }
  return broken;
}

/**
 * Processes spend less of a bucket than comes back, so that it is full while they hold slices of it, and all of it at
 * once now and then.
 */
export async function floods(seed: number): Promise<World> {
  const random = seeded(seed);
  const time = new VirtualTime(START_MS);
  const plan = { kind: 'bucket', units: 6000, windowMs: 1000, maxAgeMs: 500, drift: 0.999e-3 } as const;
  const world = new World(plan, random, time);
  const processes = Array.from({ length: MOST_PROCESSES }, () => world.start());
  for (let flood = 0; flood < 4; flood++) {
    const endMs = time.nowMs + random.integer(1200, 1500);
    while (time.nowMs < endMs) {
      await time.runUntil(time.nowMs + 2);
      for (const process of processes) if (random.percent(50)) world.ask(process, random.integer(1, 2));
    }
    for (const process of processes) for (let i = 0; i < plan.units / 2; i++) world.ask(process, 1);
  }
  await time.runUntil(time.nowMs + 50);
  return world;
}

/**
 * A process takes slices of a bucket and goes idle; what it gives back is held up on its way until the bucket has
 * refilled as much, and another has spent that.
 */
export async function heldUp(seed: number): Promise<World> {
  const time = new VirtualTime(START_MS);
  const plan = { kind: 'bucket', units: 4000, windowMs: 10_000, maxAgeMs: 500, drift: 0.999e-3 } as const;
  const world = new World(plan, seeded(seed), time);
  const [holder, other] = [world.start(), world.start()];
  const drain = async (): Promise<void> => {
    for (let i = 0; i < plan.units; i++) world.ask(other, 1);
    await time.runUntil(time.nowMs + 20);
  };
  for (let i = 0; i < 24; i++) {
    for (let j = 0; j < 80; j++) world.ask(holder, 1);
    await time.runUntil(time.nowMs + 3);
  }
  holder.latencyMs = [6500, 6500];
  await time.runUntil(time.nowMs + 6400);
  await drain();
  await time.runUntil(time.nowMs + 1000);
  await drain();
  return world;
}
