import { seeded, VirtualTime } from '@sluice/testkit';
import { World, type WorldPlan } from './world.ts';

const START_MS = 1_795_262_400_000;
/** Demand comes this often, in bursts. */
const EVERY_MS = 2;

/** What came of a world in which more was asked for than there is. */
export interface Saturation {
  /** Of what the policies allow, this was allowed. */
  readonly used: number;
  /** Of what was allowed, this came from leases. */
  readonly leased: number;
  /** What each process was allowed, of what all were. */
  readonly shares: readonly number[];
}

/**
 * Lets processes ask for `demand` times what there is, each for its part, as long as seven windows.
 *
 * @param parts - Of the demand, per process: 1 in all.
 */
export async function saturate(plan: WorldPlan, parts: readonly number[], demand: number): Promise<Saturation> {
  const random = seeded(plan.units + plan.windowMs + parts.length);
  const time = new VirtualTime(START_MS);
  const world = new World(plan, random, time);
  const processes = parts.map(() => world.start());
  const perMs = (demand * plan.units) / world.refillMs;
  const sinceMs = START_MS + 2 * plan.windowMs;
  const endMs = sinceMs + 5 * plan.windowMs;
  processes.forEach((process, place) => {
    let owed = 0;
    const ask = (): void => {
      owed += (parts[place] as number) * perMs * EVERY_MS * (random.integer(0, 2000) / 1000);
      for (; owed >= 1; owed--) world.ask(process, 1);
      if (time.nowMs < endMs) time.after(EVERY_MS, ask);
    };
    ask();
  });
  await time.runUntil(endMs);
  if (world.broken().length > 0) throw new Error(world.broken().join());
  const allowed = processes.map(({ allowed: { lease, store } }) => lease + store);
  const all = allowed.reduce((sum, units) => sum + units, 0);
  const leased = processes.reduce((sum, { allowed: { lease } }) => sum + lease, 0);
  return {
    used: world.allowedSince(sinceMs) / ((endMs - sinceMs) * (plan.units / world.refillMs)),
    leased: leased / all,
    shares: allowed.map((units) => units / all),
  };
}
