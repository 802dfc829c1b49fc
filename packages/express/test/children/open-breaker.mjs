// Serves requests while Redis is not there until the breaker has opened, closes its server and says so. Then nothing is
// left to do: the process must end by itself.
//
// argv: url, and what is done with the connection: `theirs` was handed in and is ended, the limiter is not closed;
// `ours` was made for the URL, and ends with the limiter.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fixedWindow, rateLimit, redisStore } from '@sluice/express';
import express from 'express';
import { Redis } from 'ioredis';

const [url, whose] = process.argv.slice(2);
const client = new Redis(url, { lazyConnect: true, enableOfflineQueue: false, maxRetriesPerRequest: 0 });
client.on('error', () => {});

const limiter = rateLimit({
  policy: fixedWindow({ limit: 5, window: '1m' }),
  store: redisStore(whose === 'ours' ? url : client, {
    prefix: 'sluice',
    breaker: { failures: 1, probeEveryMs: 60_000 },
  }),
  timeoutMs: 50,
});
const server = createServer(express().use(limiter)).listen(0, '127.0.0.1');
await once(server, 'listening');
for (let i = 0; i < 3; i++) {
  const response = await fetch(`http://127.0.0.1:${server.address().port}/`, { headers: { Connection: 'close' } });
  await response.text();
}
const { breaker } = limiter.limiter.status();
server.close();
await once(server, 'close');
if (whose === 'ours') await limiter.limiter.close();
else client.disconnect();
process.stdout.write(breaker === 'closed' ? 'closed' : 'open');
