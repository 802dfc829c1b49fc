import { describe, expect, it } from '@jest/globals';
import * as ours from '@sluice/compat/express-rate-limit';
import type { Express } from 'express';
import express from 'express';
import * as theirs from 'express-rate-limit';
import { keptLog, served } from './applications.ts';

type Options = Partial<theirs.Options>;
type RateLimit = (options: Options) => ReturnType<typeof theirs.rateLimit>;

interface Mistake {
  readonly options?: object;
  readonly headers?: Record<string, string>;
  readonly setUp?: (app: Express) => void;
}

const numbers = (totalHits: number, resetTime?: Date): object => ({
  increment: () => ({ totalHits, resetTime }),
  decrement: () => undefined,
  resetKey: () => undefined,
});

/** By what is wrong, the code that express-rate-limit has for it. */
const MISTAKES: Readonly<Record<string, Mistake>> = {
  'error ERR_ERL_UNDEFINED_IP_ADDRESS': {
    setUp: (app) =>
      app.use((request, _response, next) => {
        Object.defineProperty(request, 'ip', { value: undefined });
        next();
      }),
  },
  'error ERR_ERL_INVALID_IP_ADDRESS': {
    setUp: (app) =>
      app.use((request, _response, next) => {
        Object.defineProperty(request, 'ip', { value: '1.2.3.4:80' });
        next();
      }),
  },
  'error ERR_ERL_PERMISSIVE_TRUST_PROXY': { setUp: (app) => app.set('trust proxy', true) },
  'error ERR_ERL_UNEXPECTED_X_FORWARDED_FOR': { headers: { 'x-forwarded-for': '1.2.3.4' } },
  'error ERR_ERL_FORWARDED_HEADER': { headers: { forwarded: 'for=1.2.3.4' } },
  'error ERR_ERL_INVALID_HITS': { options: { store: numbers(0, new Date()) } },
  'error ERR_ERL_HEADERS_NO_RESET': { options: { store: numbers(1), standardHeaders: 'draft-7' } },
  'error ERR_ERL_HEADERS_UNSUPPORTED_DRAFT_VERSION': { options: { standardHeaders: 'draft-2' } },
  'error ERR_ERL_UNKNOWN_OPTION': { options: { windowMS: 1 } },
  'error ERR_ERL_UNKNOWN_VALIDATION': { options: { validate: { everything: true } } },
  'error ERR_ERL_IPV6_SUBNET': { options: { ipv6Subnet: 65 } },
  'error ERR_ERL_IPV6SUBNET_OR_KEYGENERATOR': { options: { ipv6Subnet: 64, keyGenerator: () => 'all' } },
  'error ERR_ERL_KEY_GEN_IPV6': { options: { keyGenerator: (request: { ip: string }) => request.ip } },
  'error ERR_ERL_WINDOW_MS': { options: { windowMs: 2 ** 31 } },
  'warn WRN_ERL_MAX_ZERO': { options: { limit: 0 } },
  'warn WRN_ERL_DEPRECATED_ON_LIMIT_REACHED': {
    options: { onLimitReached: () => undefined, validate: { knownOptions: false } },
  },
  'warn WRN_ERL_DEPRECATED_DRAFT_POLLI_HEADERS': { options: { draft_polli_ratelimit_headers: true } },
};

async function codesOf(rateLimit: RateLimit, { options, headers, setUp }: Mistake): Promise<readonly string[]> {
  const logger = keptLog();
  const running = await served([], (app) => {
    setUp?.(app);
    app.use(rateLimit({ ...options, logger }));
  });
  await running.get('/', headers);
  await running.get('/', headers);
  await running.close();
  return logger.codes;
}

describe('an address that is null', () => {
  it.each<[string, RateLimit]>([
    ['express-rate-limit', theirs.rateLimit],
    ['this package', ours.rateLimit],
  ])('is a key like any other: %s', async (_name, rateLimit) => {
    const running = await served([], (app) => {
      app.use((request, _response, next) => {
        Object.defineProperty(request, 'ip', { value: null });
        next();
      });
      app.use(rateLimit({ validate: false }));
    });

    const { status } = await running.get();
    await running.close();

    expect(status).toBe(200);
  });
});

describe('a mistake is logged once, with the code of express-rate-limit', () => {
  it.each(Object.entries(MISTAKES))('%s', async (code, mistake) => {
    expect(await codesOf(ours.rateLimit, mistake)).toEqual([code]);
    // 'windowMs' of that length would be a timer of 1 ms there.
    if (code !== 'error ERR_ERL_WINDOW_MS') expect(await codesOf(theirs.rateLimit, mistake)).toEqual([code]);
  });

  it.each([[false], [{ default: false }], [{ ip: false, trustProxy: false }]])(
    'and can be turned off: %j',
    async (validate) => {
      const setUp = (app: Express): unknown => app.set('trust proxy', true);

      expect(await codesOf(ours.rateLimit, { options: { validate }, setUp: (app) => void setUp(app) })).toEqual([]);
    },
  );

  it('a store of two limiters, and a key that one request counts twice', async () => {
    const logger = keptLog();
    const store = new ours.MemoryStore();
    const running = await served([ours.rateLimit({ store, logger }), ours.rateLimit({ store, logger })]);

    await running.get();
    await running.close();

    expect(logger.codes).toEqual(['error ERR_ERL_STORE_REUSE', 'error ERR_ERL_DOUBLE_COUNT']);
  });

  it('a limiter that a request makes', async () => {
    const logger = keptLog();
    const running = await served([], (app) => {
      app.get('/', (_request, response) => {
        ours.rateLimit({ logger });
        response.end();
      });
    });

    await running.get();
    await running.close();

    expect(logger.codes).toEqual(['error ERR_ERL_CREATED_IN_REQUEST_HANDLER']);
    expect(typeof express).toBe('function');
  });
});
