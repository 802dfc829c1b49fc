import { describe, expect, it, jest } from '@jest/globals';
import * as ours from '@sluice/compat/express-rate-limit';
import { memoryStore } from '@sluice/core';
import type { Express } from 'express';
import * as theirs from 'express-rate-limit';
import { keepLog, useApplications } from './applications.ts';

const serve = useApplications();

function optionsOf({ rateLimit }: { readonly rateLimit: (options: never) => unknown }, given: object): ours.Options {
  let options: unknown;
  const store = Object.assign(new ours.MemoryStore(), { init: (told: ours.Options) => void (options = told) });
  rateLimit({ validate: false, ...given, store } as never);
  return options as ours.Options;
}

describe('the options', () => {
  it.each<[string, object]>([
    ['none', {}],
    ['undefined, which is the same as none', { limit: undefined, windowMs: undefined, message: undefined }],
    ['the former names', { max: 7, headers: false }],
    ['standardHeaders: true, which is draft-6', { standardHeaders: true }],
    ['all of them', { limit: 1, windowMs: 2, message: 'm', statusCode: 3, ipv6Subnet: 60, identifier: 'i' }],
  ])('have the defaults of express-rate-limit: %s', (_title, given) => {
    const read = (options: object): object =>
      Object.fromEntries(
        Object.entries({ ...options, store: 'store', logger: 'logger' }).map(([name, value]) => [
          name,
          typeof value === 'function' ? 'function' : value,
        ]),
      );

    expect(read(optionsOf(ours, given))).toEqual(read(optionsOf(theirs, given)));
  });

  it.each<[string, object]>([
    ['a store without methods', { store: {} }],
    ['a store whose init is not a function', { store: Object.assign(new ours.MemoryStore(), { init: 'init' }) }],
    ['a logger without functions', { logger: { error: 'error' } }],
  ])('are a TypeError: %s', (_title, options) => {
    expect(() => ours.rateLimit(options as never)).toThrow(TypeError);
  });
});

describe('the exports', () => {
  it('are those of express-rate-limit', () => {
    const names = Object.keys(theirs).filter((name) => name !== 'module.exports');

    expect(Object.keys(ours).sort()).toEqual(names.sort());
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
    ...['1.2.3.4', '::ffff:1.2.3.4', '::ffff:102:304', '::1.2.3.4', '::1', '::', '2001:db8:1234:5678::1.2.3.4'],
    ...[
      '64:ff9b::1.2.3.4',
      '0123:4567:89ab:cdef:0123:4567:89ab:cdef',
      '123:ABC::89',
      '2001:db8:0:0:1:0:0:1',
      'no address',
    ],
  ])('is that of express-rate-limit: %s', (ip) => {
    for (const bits of [undefined, 32, 48, 56, 60, 63, 64, 128, false] as const) {
      expect([bits, ours.ipKeyGenerator(ip, bits)]).toEqual([bits, theirs.ipKeyGenerator(ip, bits)]);
    }
  });
});

describe('what is our own', () => {
  it('mode: report counts and states, and denies nothing', async () => {
    const limit = ours.rateLimit({ limit: 1, mode: 'report', standardHeaders: 'draft-6' });
    const app = await serve([
      limit,
      (request, response) => void response.json((request as ours.AugmentedRequest)['rateLimit']),
    ]);
    await app.ask();

    const { status, headers, body } = await app.ask();

    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ limit: 1, used: 2, remaining: 0 });
    expect([headers['ratelimit-remaining'], headers['retry-after']]).toEqual(['0', undefined]);
  });

  it('a store of Sluice is taken as it is, and that two limiters share one is reported, as for every other', async () => {
    const [store, logger] = [memoryStore(), keepLog()];
    const app = await serve([ours.rateLimit({ limit: 1, store, logger })]);

    const statuses = await app.statuses('/', '/');
    ours.rateLimit({ store, logger });

    expect(statuses).toEqual([200, 429]);
    expect(logger.codes).toEqual(['error ERR_ERL_STORE_REUSE']);
  });
});

type Options = Partial<theirs.Options>;
type RateLimit = (options: Options) => ReturnType<typeof theirs.rateLimit>;

interface Mistake {
  readonly options?: object;
  readonly headers?: Record<string, string>;
  readonly setUp?: (app: Express) => void;
}

const returning = (totalHits: number, resetTime?: Date): object => ({
  increment: () => ({ totalHits, resetTime }),
  decrement: () => undefined,
  resetKey: () => undefined,
});

const withAddress =
  (value: unknown) =>
  (app: Express): void =>
    void app.use((request, _response, next) => {
      Object.defineProperty(request, 'ip', { value });
      next();
    });

const trustAll = (app: Express): void => void app.set('trust proxy', true);

/** By the code that express-rate-limit has for it, what is wrong. */
const MISTAKES: Readonly<Record<string, Mistake>> = {
  'error ERR_ERL_UNDEFINED_IP_ADDRESS': { setUp: withAddress(undefined) },
  'error ERR_ERL_INVALID_IP_ADDRESS': { setUp: withAddress('1.2.3.4:80') },
  'error ERR_ERL_PERMISSIVE_TRUST_PROXY': { setUp: trustAll },
  'error ERR_ERL_UNEXPECTED_X_FORWARDED_FOR': { headers: { 'x-forwarded-for': '1.2.3.4' } },
  'error ERR_ERL_FORWARDED_HEADER': { headers: { forwarded: 'for=1.2.3.4' } },
  'error ERR_ERL_INVALID_HITS': { options: { store: returning(0, new Date()) } },
  'error ERR_ERL_HEADERS_NO_RESET': { options: { store: returning(1), standardHeaders: 'draft-7' } },
  'error ERR_ERL_HEADERS_UNSUPPORTED_DRAFT_VERSION': { options: { standardHeaders: 'draft-2' } },
  'error ERR_ERL_UNKNOWN_OPTION': { options: { windowMS: 1 } },
  'error ERR_ERL_UNKNOWN_VALIDATION': { options: { validate: { everything: true } } },
  'error ERR_ERL_IPV6_SUBNET': { options: { ipv6Subnet: 65 } },
  'error ERR_ERL_IPV6SUBNET_OR_KEYGENERATOR': { options: { ipv6Subnet: 64, keyGenerator: () => 'all' } },
  'error ERR_ERL_KEY_GEN_IPV6': { options: { keyGenerator: (request: { ip: string }) => request.ip } },
  'error ERR_ERL_WINDOW_MS': { options: { windowMs: '60000' } },
  'warn WRN_ERL_MAX_ZERO': { options: { limit: 0 } },
  'warn WRN_ERL_DEPRECATED_ON_LIMIT_REACHED': {
    options: { onLimitReached: () => undefined, validate: { knownOptions: false } },
  },
  'warn WRN_ERL_DEPRECATED_DRAFT_POLLI_HEADERS': { options: { draft_polli_ratelimit_headers: true } },
};

async function codesOf(rateLimit: RateLimit, { options, headers = {}, setUp }: Mistake): Promise<readonly string[]> {
  const logger = keepLog();
  const app = await serve([], (express) => {
    setUp?.(express);
    express.use(rateLimit({ ...options, logger }));
  });
  await app.ask('/', { headers });
  await app.ask('/', { headers });
  return logger.codes;
}

describe('a mistake is logged once, with the code of express-rate-limit', () => {
  it.each(Object.entries(MISTAKES))('%s', async (code, mistake) => {
    expect(await codesOf(ours.rateLimit, mistake)).toEqual([code]);
    expect(await codesOf(theirs.rateLimit, mistake)).toEqual([code]);
  });

  it.each([[false], [{ default: false }], [{ ip: false, trustProxy: false }]])(
    'and can be turned off: %j',
    async (validate) => {
      expect(await codesOf(ours.rateLimit, { options: { validate }, setUp: trustAll })).toEqual([]);
    },
  );

  it('a store of two limiters, and a key that one request counts twice', async () => {
    const logger = keepLog();
    const store = new ours.MemoryStore();
    const app = await serve([ours.rateLimit({ store, logger }), ours.rateLimit({ store, logger })]);

    await app.ask();

    expect(logger.codes).toEqual(['error ERR_ERL_STORE_REUSE', 'error ERR_ERL_DOUBLE_COUNT']);
  });

  it.each([
    [true, 'ERR_ERL_STORE_REUSE (Object): '],
    [false, 'ERR_ERL_STORE_REUSE (Object, without a unique prefix): '],
  ])('a store of two limiters says what to do if its localKeys are %p', (localKeys, message) => {
    const store = { ...returning(1), localKeys } as theirs.Store;
    const error = jest.fn();

    for (let i = 0; i < 2; i++) ours.rateLimit({ store, logger: { error, warn: () => undefined } });

    expect(error).toHaveBeenCalledWith(expect.objectContaining({ message: expect.stringContaining(message) }));
  });

  it('a limiter that a request makes', async () => {
    const logger = keepLog();
    const app = await serve([
      (_request, _response, next) => {
        ours.rateLimit({ logger });
        next();
      },
    ]);

    await app.ask();

    expect(logger.codes).toEqual(['error ERR_ERL_CREATED_IN_REQUEST_HANDLER']);
  });

  it('a check that fails, such as one of a request without an application, ends no request', async () => {
    const logger = keepLog();
    const limit = ours.rateLimit({ logger, legacyHeaders: false });

    await new Promise((resolve) => void limit({ ip: '1.2.3.4', headers: {} } as never, {} as never, resolve));

    expect(logger.codes).toHaveLength(1);
  });
});
