// Starts an application of Next.js that was built here, and asks its limited route, and its proxy.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

const free = createServer().listen(0, '127.0.0.1');
await once(free, 'listening');
const { port } = free.address();
free.close();
await once(free, 'close');

const next = spawn(
  process.execPath,
  ['node_modules/next/dist/bin/next', 'start', '-H', '127.0.0.1', '-p', String(port)],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
for await (const text of next.stdout) if (/Ready in/.test(text)) break;

const ask = (address, init = {}) =>
  fetch(`http://127.0.0.1:${port}/api/orders`, { ...init, headers: { 'x-real-ip': address } });
const order = (address) => ask(address, { method: 'POST', body: '{"item":"tea"}' });

try {
  const answers = [];
  for (let i = 0; i < 3; i++) answers.push(await order('203.0.113.1'));
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers.get('ratelimit')?.split(';').slice(0, 2).join(';')]),
    [
      [201, '"orders";r=1'],
      [201, '"orders";r=0'],
      [429, '"orders";r=0'],
    ],
  );
  assert.deepEqual(await answers[1].json(), { item: 'tea', left: 0 });
  assert.equal(answers[2].headers.get('content-type'), 'application/problem+json');
  assert.match(answers[2].headers.get('retry-after'), /^\d+$/);
  assert.equal((await order('203.0.113.2')).status, 201);

  const { status, headers } = await ask('203.0.113.3');
  assert.match(headers.get('ratelimit'), /^"everything";r=19;t=\d+$/);
  assert.equal(status, 200);
} finally {
  next.kill();
}
