import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from '@sluice/server';

const MOST_DESCRIPTORS = 16;
const rules = (requests) =>
  Array.from({ length: MOST_DESCRIPTORS }, (_, i) => ({
    key: `rule-${i}`,
    rate_limit: { unit: 'hour', requests_per_unit: requests },
  }));
// JSON is YAML.
const CONFIGURATION = [
  { domain: 'many', descriptors: rules(1_000_000_000) },
  { domain: 'denied', descriptors: rules(1) },
  { domain: 'unlimited', descriptors: [{ key: 'another' }] },
  {
    forward_auth: {
      trusted_proxies: ['127.0.0.0/8'],
      rules: [
        { match: { paths: ['/health'] }, skip: true },
        {
          match: { paths: ['/orders', '/orders/*'] },
          key: ['ip', 'route'],
          policy: { fixedWindow: { limit: 1_000_000_000, window: '1h' } },
        },
      ],
    },
  },
];

/** The service: gRPC where it has a Redis, forward auth where it has none. */
export async function serve({ redisUrl }) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const config = join(folder, 'limits.yaml');
  writeFileSync(config, CONFIGURATION.map((document) => JSON.stringify(document)).join('\n---\n'));
  const listeners = redisUrl === undefined ? { grpc: 'off', http: 0 } : { grpc: 0, http: 'off' };
  const server = await createServer({
    config,
    redis: redisUrl,
    admin: 'off',
    log: () => undefined, // a line for each denied key would be measured too
    timeoutMs: 1000,
    ...listeners,
  });
  const { grpc, http } = server.addresses;
  return {
    port: Number((grpc ?? http).split(':')[1]),
    close: async () => {
      await server.close();
      rmSync(folder, { recursive: true });
    },
  };
}
