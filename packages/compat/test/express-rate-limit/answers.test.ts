import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as ours from '@sluice/compat/express-rate-limit';
import type { HttpAnswer } from '@sluice/testkit';
import * as theirs from 'express-rate-limit';
import { useApplications } from './applications.ts';

const serve = useApplications();

type Options = Partial<theirs.Options>;
/** Limiters of one application, and the requests that it gets: a path, with the key in its query. */
type Scenario = readonly [title: string, limiters: readonly Options[], paths: readonly string[]];

const byQuery: Options['keyGenerator'] = (request) => request.query['key'] as string;
const json: Options['handler'] = (request, response) =>
  void response.json((request as never as Record<string, unknown>)['quota']);
const former = (options: object): Options => options;
const fail = (what: string) => (): never => {
  throw new Error(what);
};
const passOn: Options['handler'] = (_request, _response, next) => {
  next();
};
const three = ['/', '/', '/'];

const SCENARIOS: readonly Scenario[] = [
  ['the defaults', [{}], ['/', '/', '/', '/', '/', '/', '/']],
  ['max and headers, the former names of limit and legacyHeaders', [former({ max: 2, headers: false })], three],
  ['limit as a function', [{ limit: ({ query }) => Number(query['limit'] ?? 1) }], ['/?limit=3', '/', '/?limit=3']],
  ['limit as an asynchronous function', [{ limit: () => Promise.resolve(1) }], three],
  [
    'limit as a function that fails, while errors of the store pass',
    [{ limit: fail('plan'), passOnStoreError: true }],
    three,
  ],
  ['limit as a function without a number', [{ limit: () => undefined as never }], three],
  [
    'limit as a function without a number, and no fields',
    [{ limit: () => undefined as never, legacyHeaders: false }],
    three,
  ],
  ['a limit of 0', [{ limit: 0 }], ['/']],
  ['a limit that is not a whole number', [{ limit: 1.5 }], three],
  ['windowMs', [{ limit: 1, windowMs: 7_200_500 }], three],
  ['message and statusCode', [{ limit: 1, message: 'later', statusCode: 503 }], three],
  ['message as an object', [{ limit: 1, message: { error: 'later' } }], three],
  [
    'message as a function',
    [{ limit: 1, message: ({ url }: { url: string }) => Promise.resolve(`not ${url}`) }],
    three,
  ],
  ['standardHeaders', [{ limit: 1, standardHeaders: true }], three],
  ['draft-6', [{ limit: 1, standardHeaders: 'draft-6', windowMs: 90_500 }], three],
  ['draft-7', [{ limit: 1, standardHeaders: 'draft-7', legacyHeaders: false }], three],
  ['draft-8', [{ limit: 1, standardHeaders: 'draft-8', legacyHeaders: false }], three],
  ...[999, 90_000, 3_600_000, 7_200_000, 86_400_000, 172_800_000].map((windowMs): Scenario => [
    `the name of a policy of ${String(windowMs)} ms`,
    [{ windowMs, standardHeaders: 'draft-8' }],
    ['/'],
  ]),
  ['identifier', [{ limit: 1, standardHeaders: 'draft-8', identifier: 'logins' }], three],
  ['identifier as a function', [{ standardHeaders: 'draft-8', identifier: () => Promise.resolve('logins') }], three],
  ['a version of the fields that is not known', [{ limit: 1, standardHeaders: 'draft-5' as never }], three],
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
  ['keyGenerator that fails', [{ keyGenerator: () => Promise.reject(new Error('no key')) }], ['/']],
  ['a store that is null', [{ limit: 1, store: null as never }], three],
  ['skip', [{ limit: 1, skip: ({ query }) => query['skip'] === '1' }], ['/?skip=1', '/', '/?skip=1', '/']],
  ['skip that fails', [{ skip: fail('skip') }], ['/']],
  ['skipFailedRequests', [{ limit: 2, skipFailedRequests: true }], ['/error', '/', '/error', '/', '/error', '/']],
  ['skipSuccessfulRequests', [{ limit: 2, skipSuccessfulRequests: true }], ['/', '/error', '/', '/error', '/']],
  ['both of them', [{ limit: 1, skipFailedRequests: true, skipSuccessfulRequests: true }], ['/', '/error', '/']],
  [
    'requestWasSuccessful',
    [
      {
        limit: 1,
        skipSuccessfulRequests: true,
        requestWasSuccessful: (_, response) => Promise.resolve(response.statusCode === 400),
      },
    ],
    ['/error', '/error', '/', '/'],
  ],
  [
    'handler',
    [{ limit: 1, handler: (_, response, _next, { windowMs }) => void response.send(String(windowMs)) }],
    three,
  ],
  ['handler that passes on', [{ limit: 1, handler: passOn }], three],
  ['handler that fails', [{ limit: 1, handler: fail('handler') }], three],
  ['requestPropertyName', [{ limit: 1, requestPropertyName: 'quota', handler: json }], three],
];

/** The store waits until the response was sent: what is taken back is taken back before the next request. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** Node.js itself states the date where no limiter does, by another clock. */
function withoutOwnDate({ status, headers, body }: HttpAnswer): HttpAnswer {
  const { date, ...others } = headers;
  return { status, headers: 'x-ratelimit-reset' in headers ? { ...others, date } : others, body };
}

async function answersOf(
  { rateLimit }: { readonly rateLimit: (options: Options) => ReturnType<typeof theirs.rateLimit> },
  limiters: readonly Options[],
  paths: readonly string[],
): Promise<readonly HttpAnswer[]> {
  const app = await serve(limiters.map((options) => rateLimit({ validate: false, ...options })));
  const answers: HttpAnswer[] = [];
  for (const path of paths) {
    answers.push(withoutOwnDate(await app.ask(path)));
    await settled();
  }
  return answers;
}

/** Byte for byte, field for field: the same answers at the same instant. */
describe('the answers of the drop-in are those of express-rate-limit', () => {
  beforeEach(() => {
    jest.useFakeTimers({
      now: 1_900_000_000_250,
      doNotFake: [
        ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
        ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
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
    const apps = await Promise.all(
      [theirs, ours].map(({ rateLimit }) => serve([rateLimit({ limit: 1, standardHeaders: 'draft-7' })])),
    );

    const received: (readonly HttpAnswer[])[] = [];
    for (const stepMs of [0, 1, 59_998, 1, 59_999, 1]) {
      jest.setSystemTime(Date.now() + stepMs);
      received.push(await Promise.all(apps.map(async ({ ask }) => withoutOwnDate(await ask()))));
    }

    expect(received.map(([, second]) => second)).toEqual(received.map(([first]) => first));
    expect(received.map(([, second]) => second?.status)).toEqual([200, 429, 429, 200, 429, 200]);
  });
});
