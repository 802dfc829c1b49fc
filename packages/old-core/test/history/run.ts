import { setTimeout as sleep } from 'node:timers/promises';
import type { AlteredScript } from './client-process.ts';
import type { History } from './history.ts';
import type { Plan } from './plan.ts';
import { World } from './world.ts';

const FLUSH_EVERY_MS = 200;

/** Runs the processes and faults of the plan, and returns the history of the processes. */
export async function run(plan: Plan, script?: AlteredScript): Promise<History> {
  const world = await World.of(plan, script);
  try {
    for (const { afterMs, fault } of plan.faults) {
      await sleep(afterMs);
      await world.suffer(fault);
    }
    while (plan.leastCalls !== undefined && world.made() < plan.leastCalls) {
      await sleep(FLUSH_EVERY_MS);
      await world.suffer({ what: 'script flush' });
    }
    return await world.history();
  } finally {
    await world.end();
  }
}
