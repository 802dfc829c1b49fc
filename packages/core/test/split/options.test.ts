import { describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  redisStore,
  slidingCounter,
  tokenBucket,
  type Policy,
} from '../../src/index.ts';
import { consulMembership, pollMembership, redisMembership, splitStore } from '../../src/split/index.ts';
import { ManualMembership } from './manual-membership.ts';

const SECRET = 'a-secret-of-consul';
const membership = new ManualMembership();

/** Makes something of good options and these. */
const MAKE = {
  splitStore: (more: object) => splitStore({ membership, ...more }),
  pollMembership: (more: object) => pollMembership({ id: 'a', members: () => ({ a: 1 }), ...more }),
  redisMembership: (more: object) => redisMembership('redis://localhost:1', { prefix: 'shop', ...more }),
  consulMembership: (more: object) => consulMembership({ service: 'gateways', id: 'a', ...more }),
} as const;

describe('options that are rejected', () => {
  it.each<[of: keyof typeof MAKE, field: string, wrong: object, text: RegExp]>([
    ['splitStore', 'membership', { membership: 'redis://localhost' }, /redisMembership\(client, \{ prefix \}\)/],
    ['splitStore', 'graceMs', { graceMs: 3000 }, /must be more than the ttlMs of the membership, 3000/],
    ['splitStore', 'grace', { grace: 1 }, /graceMs/],
    ['pollMembership', 'id', { id: '' }, /the id of this instance/],
    ['pollMembership', 'members', { members: { a: 1 } }, /a function that returns the weight/],
    ['pollMembership', 'everyMs', { everyMs: 1 }, /from 10/],
    ['pollMembership', 'ttlMs', { everyMs: 1000, ttlMs: 1999 }, /at least 2000/],
    ['pollMembership', 'interval', { interval: 5 }, /interval/],
    ['redisMembership', 'weight', { weight: 0 }, /must be a whole number from 1 to 1000000/],
    ['redisMembership', 'group', { group: 'a b' }, /group must be/],
    ['redisMembership', 'heartbeatMs', { heartbeatMs: 5 }, /must be a whole number of milliseconds from 10/],
    ['redisMembership', 'ttlMs', { heartbeatMs: 100, ttlMs: 199 }, /must be at least 200/],
    ['redisMembership', 'ttl', { ttl: 1000 }, /redisMembership has no option "ttl"/],
    ['redisMembership', 'prefix', { prefix: 'a{b}' }, /prefix must be/],
    ['redisMembership', 'prefix', { prefix: undefined }, /^redisMembership needs a prefix.*\{ prefix: 'shop' \}/],
    ['consulMembership', 'address', { address: 'localhost:8500' }, /http or https URL of an agent/],
    ['consulMembership', 'address', { address: `http://user:${SECRET}@localhost:8500` }, /secrets go into token/],
    ['consulMembership', 'address', { address: 'http://localhost/consul' }, /without a path/],
    ['consulMembership', 'service', { service: '' }, /name of the service/],
    ['consulMembership', 'id', { id: 7 }, /a non-empty string/],
    ['consulMembership', 'token', { token: `${SECRET}\n` }, /visible ASCII/],
    ['consulMembership', 'ttlMs', { ttlMs: 100 }, /from 400/],
    ['consulMembership', 'tags', { tags: [] }, /tags/],
  ])('of %s: %s %j', (of, field, wrong, text) => {
    const make = (): unknown => MAKE[of](wrong);

    expect(make).toThrow(expect.objectContaining({ field, message: expect.stringMatching(text) as unknown }));
    expect(make).not.toThrow(SECRET);
  });

  it('do not include a missing prefix beside a Redis store, which has one', () => {
    expect(() => redisMembership(redisStore('redis://localhost:1', { prefix: 'shop' }))).not.toThrow();
    // @ts-expect-error A URL has none.
    expect(() => redisMembership('redis://localhost:1', {})).toThrow('needs a prefix');
  });

  it.each<[what: string, Policy, RegExp]>([
    ['windows that begin at the first unit', fixedWindow({ limit: 10, window: '1m' }), /align: "clock"/],
    ['units that come back at once', tokenBucket({ capacity: 9, refill: 9, every: '1m', mode: 'interval' }), /mode/],
    ['an estimate', slidingCounter({ limit: 9, window: '1m' }), /would not add up to its guarantee/],
    ['a line for all', leakyBucket({ limit: 9, window: '1m', maxDelay: '1m' }), /would not add up to its guarantee/],
  ])('of a limiter: a policy that cannot be split, with %s', (_what, policy, text) => {
    expect(() => createLimiter({ policy, store: new ManualMembership().store })).toThrow(
      expect.objectContaining({ code: 'SLUICE_POLICY_INVALID', message: expect.stringMatching(text) as unknown }),
    );
  });
});
