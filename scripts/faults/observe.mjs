// What both outages have in common: when things happen, and what is read from the rows of a load generator.
import { now, sleep } from './clock.mjs';

const WARM_UP_MS = 3000;
const BEFORE_MS = 4000;
export const AFTER_MS = 5000;
/** After this many decisions of Redis in a row in each process, limits count as shared since the first of them. */
const IN_A_ROW = 10;

/** Sends load before, during and after a fault, which `run` begins and ends. */
export async function observeFault(load, run) {
  await load.ask({ what: 'start' });
  await sleep(WARM_UP_MS);
  const beginAt = now();
  await sleep(BEFORE_MS);
  const faultAt = now();
  await run();
  const healedAt = now();
  await sleep(AFTER_MS);
  const { rows } = await load.ask({ what: 'stop' });
  return { rows, beginAt, faultAt, healedAt };
}

/** The instant since which a process shares its limits: infinite where it does not. */
export function sharedSince(rows, server, fromAt, wanted = IN_A_ROW) {
  let first = Infinity;
  let inARow = 0;
  for (const { dueAt, source } of rows.filter((row) => row.server === server && row.dueAt >= fromAt)) {
    if (source !== 'redis') inARow = 0;
    else if (++inARow === 1) first = dueAt;
    if (inARow === wanted) return first;
  }
  return Infinity;
}

export function ms(value) {
  return value === undefined ? '-' : value.toFixed(value < 1 ? 2 : value < 100 ? 1 : 0);
}
