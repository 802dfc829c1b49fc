import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until, useRedis } from '@sluice/testkit';

const redis = useRedis();
const SCRIPT = fileURLToPath(new URL('../../../children/lease.mjs', import.meta.url));
const LIMIT = 2000;
const WINDOW_MS = 1000;

interface Line {
  readonly window: number;
  readonly units: number;
  readonly leased: number;
}

let children: ChildProcess[] = [];
let lines: Line[] = [];
beforeEach(async () => {
  [children, lines] = [[], []];
  await redis.admin.flushall();
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** A process that asks for far more than its part, from now on. */
function start(): ChildProcess {
  const options = JSON.stringify({ limit: LIMIT, window: WINDOW_MS, align: 'clock' });
  const child = spawn(process.execPath, [SCRIPT, redis.server.storeUrl, options], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line !== 'ready') lines.push(JSON.parse(line) as Line);
  });
  return child;
}

const leased = (): number => lines.reduce((sum, line) => sum + line.leased, 0);

function perWindow(): readonly number[] {
  const windows = new Map<number, number>();
  for (const { window, units } of lines) windows.set(window, (windows.get(window) ?? 0) + units);
  return [...windows.values()];
}

/** Waits until so many more units came from leases. */
async function more(units: number): Promise<void> {
  const before = leased();
  await until('more is leased', () => leased() >= before + units);
}

describe('processes that lease one key', () => {
  it('keep to the limit in every window while some are killed, and others stopped for longer than a slice lives', async () => {
    const [first, second] = [start(), start(), start()];

    for (let i = 0; i < 3; i++) {
      await more(1000);
      second.kill('SIGSTOP');
      if (i === 1) first.kill('SIGKILL');
      await more(1000);
      await more(1000); // of another window: a slice is half as old at most
      second.kill('SIGCONT');
      if (i === 1) start();
    }
    await more(1000);

    expect(perWindow().filter((units) => units > LIMIT)).toEqual([]);
    expect(perWindow().length).toBeGreaterThanOrEqual(4);
  });
});
