// A service of the built package in a process of its own, for remoteStore. argv: the configuration, the URL of Redis,
// the port.
import { createServer } from '@sluice/server';

const [config, redis, port] = process.argv.slice(2);
const server = await createServer({
  ...{ config, redis, native: Number(port) },
  ...{ grpc: 'off', http: 'off', admin: 'off', timeoutMs: 1000 },
  log: () => undefined,
});
process.stdout.write(`${server.addresses.native}\n`);
