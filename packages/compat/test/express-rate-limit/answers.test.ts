import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as ours from '@sluice/compat/express-rate-limit';
import * as theirs from 'express-rate-limit';
import type { Received } from '../get.ts';
import { served } from './applications.ts';

type Options = Partial<theirs.Options>;
/** Limiters of one application, and the requests that it gets: a path, with the key in its query. */
type Scenario = readonly [title: string, limiters: readonly Options[], paths: readonly string[]];

const byQuery: Options['keyGenerator'] = (request) => request.query['key'] as string;
const former = (options: object): Options => options;
const three = ['/', '/', '/'];
const limit = 2;

const SCENARIOS: readonly Scenario[] = [
  ['the defaults', [{}], ['/', '/', '/', '/', '/', '/', '/']],
  ['limit', [{ limit }], three],
  ['max, the former name of limit', [former({ max: 2 })], three],
  [
    'limit as a function',
    [{ limit: (request) => Number(request.query['limit'] ?? 1) }],
    ['/?limit=3', '/', '/?limit=3'],
  ],
  ['limit as an asynchronous function', [{ limit: () => Promise.resolve(1) }], three],
  ['a limit of 0', [{ limit: 0 }], ['/']],
  ['a limit that is no whole number', [{ limit: 1.5 }], three],
  ['windowMs', [{ limit: 1, windowMs: 7_200_500 }], three],
  ['message', [{ limit: 1, message: 'later' }], three],
  ['message as an object', [{ limit: 1, message: { error: 'later' } }], three],
  [
    'message as a function',
    [{ limit: 1, message: (request: { url: string }) => Promise.resolve(`not ${request.url}`) }],
    three,
  ],
  ['statusCode', [{ limit: 1, statusCode: 503 }], three],
  ['legacyHeaders off', [{ limit: 1, legacyHeaders: false }], three],
  ['headers, the former name of legacyHeaders', [former({ limit: 1, headers: false })], three],
  ['standardHeaders', [{ limit: 1, standardHeaders: true }], three],
  ['draft-6', [{ limit: 1, standardHeaders: 'draft-6', windowMs: 90_500 }], three],
  ['draft-7', [{ limit: 1, standardHeaders: 'draft-7', legacyHeaders: false }], three],
  ['draft-8', [{ limit: 1, standardHeaders: 'draft-8', legacyHeaders: false }], three],
  ...[999, 5_000, 90_000, 3_600_000, 7_200_000, 86_400_000, 172_800_000].map((windowMs): Scenario => [
    `the name of a policy of ${String(windowMs)} ms`,
    [{ windowMs, standardHeaders: 'draft-8' }],
    ['/'],
  ]),
  ['identifier', [{ limit: 1, standardHeaders: 'draft-8', identifier: 'logins' }], three],
  [
    'identifier as a function',
    [{ limit: 1, standardHeaders: 'draft-8', identifier: () => Promise.resolve('logins') }],
    three,
  ],
  ['retryAfter', [{ limit: 1, retryAfter: 7 }], three],
  ['retryAfter as a function', [{ limit: 1, retryAfter: () => 8 }], three],
  ['no Retry-After without any fields', [{ limit: 1, retryAfter: 7, legacyHeaders: false }], three],
  [
    'several limiters',
    [
      { limit: 3, standardHeaders: 'draft-8' },
      { limit: 2, standardHeaders: 'draft-8', keyGenerator: byQuery },
    ],
    three,
  ],
  ['keyGenerator', [{ limit: 1, keyGenerator: byQuery }], ['/?key=a', '/?key=b', '/?key=a']],
  ['an asynchronous keyGenerator that fails', [{ keyGenerator: () => Promise.reject(new Error('no key')) }], ['/']],
  ['skip', [{ limit: 1, skip: (request) => request.query['skip'] === '1' }], ['/?skip=1', '/', '/?skip=1', '/']],
  [
    'skip that throws',
    [
      {
        skip: () => {
          throw new Error('skip');
        },
      },
    ],
    ['/'],
  ],
  ['skipFailedRequests', [{ limit: 2, skipFailedRequests: true }], ['/error', '/', '/error', '/', '/error', '/']],
  ['skipSuccessfulRequests', [{ limit: 2, skipSuccessfulRequests: true }], ['/', '/error', '/', '/error', '/']],
  ['both of them', [{ limit: 1, skipFailedRequests: true, skipSuccessfulRequests: true }], ['/', '/error', '/']],
  [
    'requestWasSuccessful',
    [
      {
        limit: 1,
        skipSuccessfulRequests: true,
        requestWasSuccessful: (_request, response) => Promise.resolve(response.statusCode === 400),
      },
    ],
    ['/error', '/error', '/', '/'],
  ],
  [
    'handler',
    [
      {
        limit: 1,
        handler: (_request, response, _next, options) => void response.status(420).send(String(options.windowMs)),
      },
    ],
    three,
  ],
  [
    'handler that passes on',
    [
      {
        limit: 1,
        handler: (_request, _response, next) => {
          next();
        },
      },
    ],
    three,
  ],
  [
    'handler that fails',
    [
      {
        limit: 1,
        handler: () => {
          throw new Error('handler');
        },
      },
    ],
    three,
  ],
  [
    'requestPropertyName',
    [
      {
        limit: 1,
        requestPropertyName: 'quota',
        handler: (request, response) => void response.json((request as never as Record<string, unknown>)['quota']),
      },
    ],
    three,
  ],
  ['a version of the fields that is not known', [{ limit: 1, standardHeaders: 'draft-5' as never }], three],
];

/** The store waits until the response was sent: what is taken back is taken back before the next request. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** Node.js itself states the date where no limiter does, by another clock. */
function withoutOwnDate({ status, headers, body }: Received): Received {
  const { date, ...others } = headers;
  return { status, headers: 'x-ratelimit-reset' in headers ? { ...others, date } : others, body };
}

async function answersOf(
  { rateLimit }: { readonly rateLimit: (options: Options) => ReturnType<typeof theirs.rateLimit> },
  limiters: readonly Options[],
  paths: readonly string[],
): Promise<readonly Received[]> {
  const running = await served(limiters.map((options) => rateLimit({ validate: false, ...options })));
  try {
    const answers: Received[] = [];
    for (const path of paths) {
      answers.push(withoutOwnDate(await running.get(path)));
      await settled();
    }
    return answers;
  } finally {
    await running.close();
  }
}

/** Byte for byte, field for field: the same answers at the same instant. */
describe('the answers of the drop-in are those of express-rate-limit', () => {
  beforeEach(() => {
    jest.useFakeTimers({
      now: 1_900_000_000_250,
      doNotFake: [
        'hrtime',
        'nextTick',
        'performance',
        'queueMicrotask',
        'setImmediate',
        'clearImmediate',
        'setInterval',
        'clearInterval',
        'setTimeout',
        'clearTimeout',
      ],
    });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it.each(SCENARIOS)('%s', async (_title, limiters, paths) => {
    const expected = await answersOf(theirs, limiters, paths);

    const answers = await answersOf(ours, limiters, paths);

    expect(answers).toEqual(expected);
  });

  it('the next window is as the first one', async () => {
    const limiters = [{ limit: 1, windowMs: 60_000, standardHeaders: 'draft-7' as const }];
    const running = await Promise.all(
      [theirs.rateLimit, ours.rateLimit].map((rateLimit) =>
        served(limiters.map((options) => rateLimit({ validate: false, ...options }))),
      ),
    );
    const steps = [0, 1, 59_998, 1, 59_999, 1];

    const received: (readonly Received[])[] = [];
    for (const step of steps) {
      jest.setSystemTime(Date.now() + step);
      received.push(await Promise.all(running.map(async ({ get }) => withoutOwnDate(await get()))));
    }
    await Promise.all(running.map(({ close }) => close()));

    expect(received.map(([, second]) => second)).toEqual(received.map(([first]) => first));
    expect(received.map(([, second]) => second?.status)).toEqual([200, 429, 429, 200, 429, 200]);
  });
});
