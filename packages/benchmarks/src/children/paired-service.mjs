// The service of a checkout, in memory: `folder` is the checkout.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { answer } from '../processes/answer.mjs';

const POLICY = { fixedWindow: { limit: 1_000_000_000, window: '1h' } };
// JSON is YAML.
const CONFIGURATION = {
  domain: 'many',
  descriptors: [{ key: 'rule-0', rate_limit: { unit: 'hour', requests_per_unit: 1_000_000_000 } }],
  limits: { login: POLICY },
  forward_auth: { trusted_proxies: ['127.0.0.0/8'], rules: [{ key: ['ip', 'route'], policy: POLICY }] },
};

answer(async ({ folder }) => {
  const { createServer } = await import(pathToFileURL(join(folder, 'packages/server/dist/index.js')).href);
  const files = mkdtempSync(join(tmpdir(), 'sluice-pairs-'));
  const config = join(files, 'limits.yaml');
  writeFileSync(config, JSON.stringify(CONFIGURATION));
  const server = await createServer({ config, grpc: 0, http: 0, admin: 'off', log: () => undefined });
  rmSync(files, { recursive: true });
  const portOf = (address) => Number(address.split(':').at(-1));
  return {
    about: { grpc: portOf(server.addresses.grpc), http: portOf(server.addresses.http) },
    usage: () => {
      const { user, system } = process.cpuUsage();
      return { cpuUs: user + system };
    },
  };
});
