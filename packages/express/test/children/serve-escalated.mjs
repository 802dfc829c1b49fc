// Serves one route behind a limit of which all units are taken, and which blocks clients that are denied so many times.
// Prints its port, and ends when its standard input does.
//
// argv: url of Redis, denials until a block.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { byHeader, escalate, fixedWindow, rateLimit, redisStore } from '@sluice/express';
import express from 'express';

const [url, after] = process.argv.slice(2);
const limiter = rateLimit({
  policy: fixedWindow({ limit: 1, window: '1d' }),
  key: byHeader('x-api-key'),
  escalate: escalate({ after: Number(after), block: '2d', decay: '30d' }),
  store: redisStore(url, { prefix: 'sluice' }),
  onStoreError: 'throw',
  timeoutMs: 60_000,
});
const app = express().use(limiter);
app.get('/', (_request, response) => response.send('hello'));
const server = createServer(app).listen(0, '127.0.0.1');
await once(server, 'listening');
process.stdout.write(`${server.address().port}\n`);

process.stdin.resume();
await once(process.stdin, 'end');
server.closeAllConnections();
server.close();
await limiter.limiter.close();
