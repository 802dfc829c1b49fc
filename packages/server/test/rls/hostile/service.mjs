// A service of the built package in a process of its own. Sends where it listens, then, for each message, the memory that it
// takes after a collection, in MiB.
import { createServer } from '@sluice/server';

const MIB = 1024 * 1024;
const server = await createServer({
  config: process.argv[2],
  ...{ grpc: 0, http: 'off', admin: 'off', timeoutMs: 10_000, drainMs: 1_000 },
  log: () => undefined,
});
process.on('message', () => {
  globalThis.gc();
  globalThis.gc();
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  process.send({ rss: rss / MIB, used: (heapUsed + external + arrayBuffers) / MIB });
});
process.on('disconnect', () => server.close());
process.send(server.addresses.grpc);
