import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import * as jest from '@jest/globals';
import { describe, expect, it } from '@jest/globals';
import { describeAdapter, type AdapterTarget, type ContractPart, type Runner } from '@sluice/testing/adapter';
import { useRedis } from '@sluice/testkit';

const target: AdapterTarget = { name: 'none', start: () => Promise.reject(new Error('never started')) };

describe('describeAdapter under node:test', () => {
  const redis = useRedis();

  it('passes for an adapter of plain node:http, and leaves no key in Redis', async () => {
    const path = fileURLToPath(new URL('adapter/node-test.mjs', import.meta.url));
    const child = spawn(process.execPath, ['--test-reporter=tap', path], {
      env: { ...process.env, REDIS_URL: redis.server.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });

    const output = await text(child.stdout);
    const count = (what: string): number => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(output)?.[1]);

    expect(output.match(/^ *not ok .*$/gm)).toBeNull();
    expect(count('pass')).toBeGreaterThan(140);
    expect(await redis.admin.keys('*')).toEqual([]);
  });
});

describe('describeAdapter', () => {
  const redis = 'redis://127.0.0.1:1';
  const runner: Partial<Runner> = {
    describe: (_name, define) => {
      define();
    },
    it: () => undefined,
    before: () => undefined,
    after: () => undefined,
    afterEach: () => undefined,
  };

  it('needs a runner with afterEach, a part that exists, and a Redis', () => {
    const { describe: define, it: test, before, after } = runner as Runner;
    const without = { describe: define, it: test, ...(before && { before }), ...(after && { after }) };

    expect(() => {
      describeAdapter(target, { redis }, without);
    }).toThrow(/describeAdapter needs a test runner with afterEach/);
    expect(() => {
      describeAdapter(target, { redis, parts: ['costs' as ContractPart] }, jest);
    }).toThrow('parts of describeAdapter are answers, keys, counting, waiting, got "costs"');
    expect(() => {
      describeAdapter(target, { redis: '' }, runner);
    }).toThrow(/needs a Redis of the tests/);
  });

  it('knows every scenario by its title', () => {
    expect(() => {
      describeAdapter({ ...target, impossible: { flies: 'no wings' } }, { redis }, runner);
    }).toThrow('no scenario is called "flies"');
  });
});
