import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import { useManaged } from './use-managed.ts';

const { redis, policies } = useManaged();

const SCRIPT = fileURLToPath(new URL('children/peek.mjs', import.meta.url));
const of = (limit: number): ReturnType<typeof fixedWindow> => fixedWindow({ limit, window: '1h' });

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A process that looks at the key `ann`. Returns the next limit that it sees. */
function startPeeking(): () => Promise<number> {
  const child = spawn(process.execPath, [SCRIPT, redis.server.url], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => {
    const { value, done } = (await lines.next()) as IteratorResult<string, undefined>;
    if (done === true) throw new Error('a child process ended early');
    return (JSON.parse(value) as { limit: number }).limit;
  };
}

describe('four processes', () => {
  it('all see an override, its change and its removal, in that order', async () => {
    const here = policies();
    await here.put('orders', of(10), { apps: ['checkout'] });
    const next = [1, 2, 3, 4].map(startPeeking);
    const seen = async (): Promise<number[]> => Promise.all(next.map((one) => one()));

    const before = await seen();
    await here.override('orders', 'ann', of(50));
    const under = await seen();
    await here.override('orders', 'ann', of(60));
    const changed = await seen();
    await here.removeOverride('orders', 'ann');
    const removed = await seen();

    expect([before, under, changed, removed]).toEqual([10, 50, 60, 10].map((limit) => [limit, limit, limit, limit]));
  });
});
