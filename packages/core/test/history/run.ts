import { setTimeout as sleep } from 'node:timers/promises';
import type { AlteredScript } from './client-process.ts';
import type { History } from './history.ts';
import type { Plan } from './plan.ts';
import { World } from './world.ts';

/** Runs the processes and faults of the plan, and returns the history of the processes. */
export async function run(plan: Plan, script?: AlteredScript): Promise<History> {
  const world = await World.of(plan, script);
  try {
    for (const { afterMs, fault } of plan.faults) {
      await sleep(afterMs);
      await world.suffer(fault);
    }
    return await world.history();
  } finally {
    await world.end();
  }
}
