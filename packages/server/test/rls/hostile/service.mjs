// A service of the built package in a process of its own. Prints where it listens as JSON, then, for each line on
// standard input, the memory that it takes after a collection, in MiB.
import { createInterface } from 'node:readline';
import { createServer } from '@sluice/server';

const MIB = 1024 * 1024;
const server = await createServer({
  config: process.argv[2],
  ...{ grpc: 0, http: 0, admin: 'off', timeoutMs: 10_000, drainMs: 1_000 },
  log: () => undefined,
});
process.stdout.write(`${JSON.stringify(server.addresses)}\n`);
const lines = createInterface({ input: process.stdin });
lines.on('line', () => {
  globalThis.gc();
  globalThis.gc();
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  const inMib = (bytes) => Math.round(bytes / MIB);
  process.stdout.write(`${JSON.stringify({ rss: inMib(rss), used: inMib(heapUsed + external + arrayBuffers) })}\n`);
});
lines.on('close', () => server.close());
