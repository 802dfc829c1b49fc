import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';

const SCRIPT = fileURLToPath(new URL('children/serve-escalated.mjs', import.meta.url));
const BLOCK_S = 2 * 86_400;

const redis = useRedis();
const children: ChildProcess[] = [];
afterEach(async () => {
  await Promise.all(
    children.splice(0).map(async (child) => {
      if (child.exitCode !== null) return;
      const gone = once(child, 'exit');
      child.stdin?.end();
      await gone;
    }),
  );
});

/** The port of a process that serves. */
async function serve(after: number): Promise<number> {
  const child = spawn(process.execPath, [SCRIPT, redis.server.storeUrl, String(after)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  for await (const line of createInterface({ input: child.stdout })) return Number(line);
  throw new Error('a server ended before it was ready');
}

const ask = async (port: number): Promise<{ status: number; retryAfter: number }> => {
  const response = await fetch(`http://127.0.0.1:${String(port)}/`, { headers: { 'X-Api-Key': 'ann' } });
  await response.text();
  return { status: response.status, retryAfter: Number(response.headers.get('retry-after')) };
};

it('two hundred denials at once, by three processes, lead to one block of the right length', async () => {
  const ports = await Promise.all([20, 20, 20].map(serve));
  const first = await ask(ports[0] as number);

  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => ask(ports[i % 3] as number)));

  expect(first.status).toBe(200);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([429]));
  // Until the block a day at most, then two: never four, which a second block would last.
  const blocked = answers.filter(({ retryAfter }) => retryAfter > BLOCK_S / 2);
  expect(blocked).toHaveLength(200 - 19);
  expect(blocked.filter(({ retryAfter }) => retryAfter > BLOCK_S || retryAfter < BLOCK_S - 600)).toEqual([]);
  const [name = ''] = await redis.admin.keys('*');
  expect(await redis.admin.get(name)).toMatch(/^!\d+!\^0:1:\d+\^\d+$/);
});
