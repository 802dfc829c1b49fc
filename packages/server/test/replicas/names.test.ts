import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createLimiter, fixedWindow } from '@sluice/core';
import { namePolicies } from '@sluice/core/spi';
import { remoteStore } from '@sluice/remote';
import { until, useRedis } from '@sluice/testkit';
import { createServer, type RunningServer } from '../../src/index.ts';

const redis = useRedis();
const folder = mkdtempSync(join(tmpdir(), 'sluice-names-'));

const warnings: string[] = [];
const emitWarning = jest.spyOn(process, 'emitWarning');
beforeAll(() => {
  emitWarning.mockImplementation((text) => void warnings.push(String(text)));
});
const servers: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});
afterAll(() => {
  emitWarning.mockRestore();
  rmSync(folder, { recursive: true });
});

/** Writes the file of a service: `login` with this limit, and rules of its own. */
const write = (file: string, login: number, others: readonly string[] = []): string => {
  const path = join(folder, file);
  const policies = [`login: { fixedWindow: { limit: ${String(login)}, window: 1h } }`, ...others];
  writeFileSync(path, `limits: { ${policies.join(', ')} }\n`);
  return path;
};
const start = async (config: string): Promise<RunningServer> => {
  const server = await createServer({
    ...{ config, redis: redis.server.storeUrl, token: 'token-of-the-tests' },
    ...{ grpc: 'off', http: 'off', admin: 'off', native: 0, timeoutMs: 60_000, log: () => undefined },
  });
  servers.push(server);
  return server;
};
const written = (name: string): Promise<string | null> => redis.admin.get(`sluice:names:{names}:${name}`);
const isWritten = async (name: string, part: string): Promise<boolean> =>
  (await written(name))?.includes(part) === true;
/** Makes a service look at its names: it does after each new configuration. */
const look = async (server: RunningServer, file: string, login: number): Promise<void> => {
  const other = `r${String(++looks)}`;
  write(file, login, [`${other}: { fixedWindow: { limit: 1, window: 1h } }`]);
  await server.reload();
  await until('it has looked', () => isWritten(`service/limits.${other}`, file));
};
let looks = 0;

describe('two services of one Redis', () => {
  it('whose files have other numbers under one name are told of both, and by whom', async () => {
    const shop = await start(write('shop.yaml', 5));
    await until('it has said so', () => isWritten('service/limits.login', 'shop.yaml'));
    const desk = await start(write('desk.yaml', 100));
    await until('it has said so', () => isWritten('service/limits.login', 'desk.yaml'));

    await look(shop, 'shop.yaml', 5);
    await until('it is told', () => warnings.length > 0);
    await look(desk, 'desk.yaml', 100);
    await until('the other one too', () => warnings.length === 2);
    const [five, hundred] = [
      /fixedWindow 5 per 1h in the service of shop\.yaml, /,
      /fixedWindow 100 per 1h in the service of desk\.yaml, /,
    ];
    for (const text of warnings) {
      expect(text).toMatch(/^limits named service\/limits\.login have other policies in another process/);
      expect(text).toMatch(five);
      expect(text).toMatch(hundred);
    }
  });
});

describe('a client of frames', () => {
  it('has the names of its service told, as an application that is on Redis itself tells them', async () => {
    const server = await start(write('frames.yaml', 5));
    const store = remoteStore(`sluice://${String(server.addresses.native)}`, { token: 'token-of-the-tests' });
    const policy = fixedWindow({ limit: 7, window: '1m' });
    const limiter = createLimiter({ name: 'orders', policy, store, timeoutMs: 60_000, onStoreError: 'throw' });
    await limiter.consume('ann');
    await look(server, 'frames.yaml', 5);

    const [, text] = (await written('orders'))?.split('\n') ?? [];
    expect(text).toBe(JSON.stringify(namePolicies(policy, 'orders').map((named) => named.policy)));
    await limiter.close();
    await store.close();
  });
});
