import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import * as ours from '@sluice/compat/express-rate-limit';
import { memoryStore } from '@sluice/old-core';
import * as theirs from 'express-rate-limit';
import { keptLog, served } from './applications.ts';

/** A store that keeps what `init` was given. */
class Initialized implements ours.Store {
  options: ours.Options | undefined;
  init(options: ours.Options): void {
    this.options = options;
  }
  increment(): ours.IncrementResponse {
    return { totalHits: 1, resetTime: undefined };
  }
  decrement(): void {
    // counts nothing
  }
  resetKey(): void {
    // counts nothing
  }
}

function optionsOf({ rateLimit }: { readonly rateLimit: (options: never) => unknown }, given: object): ours.Options {
  const store = new Initialized();
  rateLimit({ validate: false, ...given, store } as never);
  return store.options as ours.Options;
}

describe('the options', () => {
  it.each<[string, object]>([
    ['none', {}],
    ['undefined, which is the same as none', { limit: undefined, windowMs: undefined, message: undefined }],
    ['the former names', { max: 7, headers: false }],
    ['standardHeaders: true, which is draft-6', { standardHeaders: true }],
    ['all of them', { limit: 1, windowMs: 2, message: 'm', statusCode: 3, ipv6Subnet: 60, identifier: 'i' }],
  ])('have the defaults of express-rate-limit: %s', (_title, given) => {
    const { mode, ...options } = optionsOf(ours, given);
    const expected = optionsOf(theirs, given);
    const shown = (value: unknown): unknown => (typeof value === 'function' ? 'function' : value);
    const read = (all: object): object =>
      Object.fromEntries(
        Object.entries({ ...all, store: 'store', logger: 'logger' }).map(([name, value]) => [name, shown(value)]),
      );

    expect(read(options)).toEqual(read(expected));
    expect(mode).toBe('enforce');
  });

  it('are not changed', () => {
    const given = {};

    ours.rateLimit(given);

    expect(given).toEqual({});
  });

  it.each<[string, object]>([
    ['a store without methods', { store: {} }],
    ['a store whose init is no function', { store: Object.assign(new Initialized(), { init: 'init' }) }],
    ['a store whose resetAll is no function', { store: Object.assign(new Initialized(), { resetAll: 1 }) }],
    ['a logger without functions', { logger: { error: 'error' } }],
  ])('are a TypeError: %s', (_title, options) => {
    expect(() => ours.rateLimit(options as never)).toThrow(TypeError);
  });

  it('of validations are shown as which are on', () => {
    expect(inspect(optionsOf(ours, {}).validate)).toBe('{ default: false }');
  });
});

describe('the exports', () => {
  it('are those of express-rate-limit', () => {
    expect(Object.keys(ours).sort()).toEqual(
      Object.keys(theirs)
        .filter((name) => name !== 'module.exports')
        .sort(),
    );
    expect(ours.default).toBe(ours.rateLimit);
    expect([ours.SECOND, ours.MINUTE, ours.HOUR, ours.DAY]).toEqual([1000, 60_000, 3_600_000, 86_400_000]);
  });

  it('take the types of express-rate-limit, and give them', () => {
    const options: Partial<theirs.Options> = { windowMs: 1000, validate: { default: false } };
    const handler: theirs.RateLimitRequestHandler = ours.rateLimit(options);
    const store: theirs.Store = new ours.MemoryStore();

    expect([typeof handler.resetKey, typeof handler.getKey, store.localKeys]).toEqual(['function', 'function', true]);
  });
});

describe('the key of an address', () => {
  it.each([
    ['1.2.3.4'],
    ['::ffff:1.2.3.4'],
    ['::ffff:102:304'],
    ['::1.2.3.4'],
    ['::1'],
    ['::'],
    ['2001:db8:1234:5678::1.2.3.4'],
    ['64:ff9b::1.2.3.4'],
    ['0123:4567:89ab:cdef:0123:4567:89ab:cdef'],
    ['123:ABC::89'],
    ['2001:db8:0:0:1:0:0:1'],
    ['not an address'],
  ])('is that of express-rate-limit: %s', (ip) => {
    for (const bits of [undefined, 32, 48, 56, 60, 63, 64, 128, false] as const) {
      expect([bits, ours.ipKeyGenerator(ip, bits)]).toEqual([bits, theirs.ipKeyGenerator(ip, bits)]);
    }
  });

  it.each<[string, Partial<ours.Options>, string]>([
    ['cuts IPv6 to 56 bits', {}, '2001:db8:1:2200::/56'],
    ['cuts it to ipv6Subnet', { ipv6Subnet: 48 }, '2001:db8:1::/48'],
    ['cuts it to what a function says', { ipv6Subnet: () => Promise.resolve(64) }, '2001:db8:1:2233::/64'],
    ['leaves it whole', { ipv6Subnet: false }, '2001:db8:1:2233::9'],
  ])('%s', async (_title, options, key) => {
    const limit = ours.rateLimit({
      ...options,
      handler: (request, response) => void response.json(request.headers),
      limit: 5,
    });
    const running = await served(
      [limit, (request, response) => void response.send((request as ours.AugmentedRequest)['rateLimit']?.key)],
      (app) => app.set('trust proxy', 'loopback'),
    );

    const { body } = await running.get('/', { 'x-forwarded-for': '2001:db8:1:2233::9' });
    await running.close();

    expect(body).toBe(key);
  });
});

describe('mode: report', () => {
  it('counts, states and denies nothing', async () => {
    const limit = ours.rateLimit({
      limit: 1,
      mode: 'report',
      standardHeaders: 'draft-6',
      requestPropertyName: 'trial',
    });
    const running = await served([
      limit,
      (request, response) => void response.json((request as ours.AugmentedRequest)['trial']),
    ]);

    const [first, second] = [await running.get(), await running.get()];
    await running.close();

    expect([first.status, second.status]).toEqual([200, 200]);
    expect(JSON.parse(second.body)).toMatchObject({ limit: 1, used: 2, remaining: 0 });
    expect(second.headers['ratelimit-remaining']).toBe('0');
    expect(second.headers['retry-after']).toBeUndefined();
  });
});

describe('a store of Sluice', () => {
  it('is taken as it is, and counts as the default one', async () => {
    const running = await served([ours.rateLimit({ limit: 1, store: memoryStore() })]);

    const statuses = [(await running.get()).status, (await running.get()).status];
    await running.close();

    expect(statuses).toEqual([200, 429]);
  });

  it('that two limiters share is told of, like every other store', () => {
    const [store, logger] = [memoryStore(), keptLog()];

    ours.rateLimit({ store, logger });
    ours.rateLimit({ store, logger });

    expect(logger.codes).toEqual(['error ERR_ERL_STORE_REUSE']);
  });
});
