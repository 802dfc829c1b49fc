// A process of its own: the service of `sluice serve` over Redis, with its defaults.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { built } from './built.mjs';
import { answerTo, settings } from './children.mjs';

const { createServer } = await built('server/dist/index.js');

const folder = mkdtempSync(join(tmpdir(), 'sluice-outage-'));
const config = join(folder, 'limits.yaml');
writeFileSync(config, settings.limits);
const server = await createServer({
  ...{ config, redis: settings.url, grpc: 0, http: 'off', admin: 'off' },
  log: () => undefined,
});
rmSync(folder, { recursive: true });

answerTo({ port: () => Number(server.addresses.grpc.split(':').at(-1)) });
