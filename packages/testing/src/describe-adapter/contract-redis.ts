import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Suite as Runner } from '../runner.ts';

/** A Redis that a test run has opened. */
export interface ContractRedis {
  /** Such as `redis://127.0.0.1:6379`, without TLS. For stores under test, under `sluice:*`: a user with few rights will do. */
  readonly url: string;
  /** For the scenarios themselves, which list and remove keys, and put managed policies. Default: `url`. */
  readonly adminUrl?: string;
  /** Called after the last test. */
  readonly close?: () => Promise<void>;
}

/** The Redis of a suite, while its tests run. */
export interface SuiteRedis {
  readonly url: string;
  readonly adminUrl: string;
  readonly admin: Redis;
  /** A prefix of keys that no other run has. */
  prefix(name: string): string;
}

/** Opens it before the tests of the block, and after them removes their keys and closes it. */
export function useRedis(
  given: string | (() => Promise<ContractRedis>) = process.env['REDIS_URL'] ?? '',
  { beforeAll, afterAll }: Pick<Runner, 'beforeAll' | 'afterAll'>,
): SuiteRedis {
  if (given === '') {
    throw new Error(
      'describeAdapter needs a Redis of the tests, got none: pass `{ redis: "redis://127.0.0.1:6379" }` or set REDIS_URL',
    );
  }
  const run = `sluice:${randomBytes(6).toString('hex')}`;
  let opened: ContractRedis | undefined;
  let admin: Redis | undefined;
  const redis = (): ContractRedis => {
    if (opened === undefined) throw new Error('the Redis of the contract has not been opened');
    return opened;
  };
  const adminUrl = (): string => redis().adminUrl ?? redis().url;
  beforeAll(async () => {
    opened = typeof given === 'string' ? { url: given } : await given();
    // One attempt: a server that is away is to fail the run at once.
    admin = new Redis(adminUrl(), { lazyConnect: true, retryStrategy: () => null });
    await admin.connect();
  });
  afterAll(async () => {
    try {
      if (admin?.status === 'ready') await removeKeys(admin, run);
    } finally {
      admin?.disconnect();
      await opened?.close?.();
    }
  });
  return {
    get url() {
      return redis().url;
    },
    get adminUrl() {
      return adminUrl();
    },
    get admin() {
      return admin as Redis;
    },
    prefix: (name) => `${run}-${name}`,
  };
}

async function removeKeys(admin: Redis, run: string): Promise<void> {
  for await (const keys of admin.scanStream({ match: `${run}-*`, count: 1000 })) {
    const [first, ...rest] = keys as string[];
    if (first !== undefined) await admin.unlink(first, ...rest);
  }
}
