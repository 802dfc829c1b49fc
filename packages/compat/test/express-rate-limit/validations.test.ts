import { describe, expect, it } from '@jest/globals';
import * as ours from '@sluice/compat/express-rate-limit';
import type { Express } from 'express';
import * as theirs from 'express-rate-limit';
import { keepLog, serve } from './applications.ts';

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

async function codesOf(rateLimit: RateLimit, { options, headers, setUp }: Mistake): Promise<readonly string[]> {
  const logger = keepLog();
  const app = await serve([], (express) => {
    setUp?.(express);
    express.use(rateLimit({ ...options, logger }));
  });
  await app.get('/', headers);
  await app.get('/', headers);
  await app.close();
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

    await app.get();
    await app.close();

    expect(logger.codes).toEqual(['error ERR_ERL_STORE_REUSE', 'error ERR_ERL_DOUBLE_COUNT']);
  });

  it('a limiter that a request makes', async () => {
    const logger = keepLog();
    const app = await serve([
      (_request, _response, next) => {
        ours.rateLimit({ logger });
        next();
      },
    ]);

    await app.get();
    await app.close();

    expect(logger.codes).toEqual(['error ERR_ERL_CREATED_IN_REQUEST_HANDLER']);
  });

  it('a check that fails, such as one of a request without an application, ends no request', async () => {
    const logger = keepLog();
    const limit = ours.rateLimit({ logger, legacyHeaders: false });

    await new Promise((resolve) => void limit({ ip: '1.2.3.4', headers: {} } as never, {} as never, resolve));

    expect(logger.codes).toHaveLength(1);
  });
});
