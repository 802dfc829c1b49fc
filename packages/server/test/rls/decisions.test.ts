import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { memoryStore, redisStore } from '@sluice/core';
import { useRedis } from '@sluice/testkit';
import { readStatus, type AskOptions } from './grpc-client.ts';
import type { RequestFields, ResponseFields, StatusFields } from './protocol.ts';
import { descriptor, readRequest, runService, type RunningService } from './running-service.ts';

/** The windows are days, so that none ends during a test. The last part is the example of envoyproxy/ratelimit's tests. */
const LIMITS = `
domain: shop
descriptors:
  - { key: user, rate_limit: { unit: day, requests_per_unit: 5 } }
  - { key: path, rate_limit: { unit: week, requests_per_unit: 3 } }
  - { key: free, rate_limit: { unlimited: true } }
  - { key: closed, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: watched, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 2 } }
  - { key: pool, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 2 } }
  - { key: watched_pool, quota_mode: true, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: bucket, sluice: { tokenBucket: { capacity: 4, refill: 4, every: 30m } } }
  - { key: hourly, sluice: { slidingLog: { limit: 2, window: 1h } } }
  - key: both
    sluice:
      - { fixedWindow: { name: daily, limit: 4, window: 1d } }
      - { slidingLog: { name: hourly, limit: 2, window: 1h } }
  - key: category
    value: account
    rate_limit: { replaces: [{ name: bkthomps }, { name: fake_name }], unit: day, requests_per_unit: 4 }
  - key: source
    value: proxy
    descriptors:
      - { key: to, value: bkthomps, rate_limit: { replaces: [{ name: bkthomps }], unit: day, requests_per_unit: 2 } }
      - { key: to, value: mock, rate_limit: { unit: day, requests_per_unit: 1 } }
      - { key: to, value: override, rate_limit: { replaces: [{ name: banned_limit }], unit: day, requests_per_unit: 2 } }
      - { key: to, value: fake, rate_limit: { name: fake_name, unit: day, requests_per_unit: 2 } }
  - key: foo
    rate_limit: { unit: day, requests_per_unit: 2 }
    descriptors:
      - { key: bar, rate_limit: { unit: day, requests_per_unit: 3 } }
      - { key: bar, value: bkthomps, rate_limit: { name: bkthomps, unit: day, requests_per_unit: 1 } }
      - { key: bar, value: banned, rate_limit: { name: banned_limit, unit: day, requests_per_unit: 0 } }
`;
const TOKEN = 'Bearer secret';

/**
 * A request, as `readRequest` reads it, and its answers, one after the other: `OK` or `OVER`, and a status for each descriptor. That is what
 * is left of the limit, `!` for one that is exceeded, `-` for no limit.
 */
type Step = readonly [request: string, ...answers: string[]];

function writeAnswer({ overallCode, statuses = [] }: ResponseFields): string {
  return [overallCode.replace('_LIMIT', ''), ...statuses.map(writeStatus)].join(' ');
}

function writeStatus({ code, currentLimit, limitRemaining = 0, durationUntilReset }: StatusFields): string {
  if (durationUntilReset === undefined) return limitRemaining === 2 ** 32 - 1 ? 'max' : '-';
  const left = code === 'OK' ? String(limitRemaining) : '!';
  const { requestsPerUnit = 0, unit = '' } = currentLimit ?? {};
  return currentLimit === undefined ? left : `${left}/${String(requestsPerUnit)}${unit.toLowerCase()}`;
}

const FIVE = ['OK 4/5day', 'OK 3/5day', 'OK 2/5day', 'OK 1/5day', 'OK 0/5day', 'OVER !/5day'];
const POOL: Step = ['pool=$', 'OK 1/2day', 'OK 0/2day', 'OVER !/2day'];

const ROWS: Readonly<Record<string, readonly Step[]>> = {
  'allow as often as the limit says, and state what is left': [['user=$', ...FIVE]],
  'take all enforcing descriptors or none': [
    ['user=$ & path=$', 'OK 4/5day 2/3week', 'OK 3/5day 1/3week', 'OK 2/5day 0/3week', 'OVER 2/5day !/3week'],
    ['user=$ *0', 'OK 2/5day'],
  ],
  'answer a status per descriptor in order, with and without limits': [
    ['nothing=here & user=$ & free=all & user=a deeper=one & ', 'OK - 4/5day max - -'],
  ],
  'count the hits of the request, and those of a descriptor instead': [['3: user=$ & path=$ *2', 'OK 2/5day 1/3week']],
  'add up for a descriptor that comes twice': [
    ['user=$ & user=$', 'OK 3/5day 3/5day', 'OK 1/5day 1/5day', 'OVER !/5day !/5day'],
    ['user=$ *0', 'OK 1/5day'],
  ],
  'never deny in shadow mode': [['watched=$', 'OK 1/2day', 'OK 0/2day', 'OK 0/2day']],
  'take units in shadow mode although the request is denied': [
    ['closed=x & watched=$', 'OVER !/0day 1/2day'],
    ['watched=$ *0', 'OK 1/2day'],
  ],
  'take the quotas that allow, and deny when none does': [
    ['pool=$', 'OK 1/2day'],
    ['pool=$ & pool=$$', 'OK 0/2day 1/2day', 'OK !/2day 0/2day', 'OVER !/2day !/2day'],
  ],
  'let nothing enforcing be taken where all quotas deny': [
    POOL,
    ['user=$ & pool=$', 'OVER 5/5day !/2day'],
    ['user=$ *0', 'OK 5/5day'],
  ],
  'take what enforces and one of the quotas together': [
    POOL,
    ['pool=$ & user=$ & pool=$$', 'OK !/2day 4/5day 1/2day'],
    ['user=$ *0 & pool=$$ *0', 'OK 4/5day 1/2day'],
  ],
  'allow where a quota is in shadow mode as well, as envoyproxy/ratelimit does': [
    POOL,
    ['watched_pool=$ & pool=$', 'OK 0/1day !/2day', 'OK 0/1day !/2day'],
  ],
  'of hits of 0 look whether one unit is left, and take none': [
    ['user=$ *0', 'OK 5/5day', 'OK 5/5day'],
    ['user=$', ...FIVE],
    ['user=$ *0', 'OVER !/5day'],
  ],
  'of hits of 0 that deny let nothing else be taken': [
    ['path=$ *3', 'OK 0/3week'],
    ['user=$ & path=$ *0', 'OVER 5/5day !/3week'],
    ['user=$ *0', 'OK 5/5day'],
  ],
  'of hits of 0 are of one quota what hits are of another: one that allows is enough': [
    POOL,
    ['pool=$ & pool=$$ *0', 'OK !/2day 2/2day'],
    ['pool=$$ *0', 'OK 2/2day'],
  ],
  'state the policy that decides, and no limit whose window is no unit of Envoy': [
    ['both=$', 'OK 1/2hour', 'OK 0/2hour', 'OVER !/2hour'],
    ['bucket=$', 'OK 3'],
  ],
  'hold one descriptor that comes with two limits to the lower one': [
    ['user=$ @9/DAY & user=$ *5', 'OVER !/9day !/5day'],
  ],
  'take a limit of the request instead of the rule': [
    ['user=$ @2/HOUR', 'OK 1/2hour', 'OK 0/2hour', 'OVER !/2hour'],
    ['new=$ @1/DAY', 'OK 0/1day', 'OVER !/1day'],
  ],
  'count as many hits as can be counted exactly': [['user=$ *9007199254740991', 'OVER !/5day']],
  'give units back, and state what is left then': [
    ['user=$ *4', 'OK 1/5day'],
    ['user=$ *-2', 'OK 3/5day'],
    ['user=$ *0', 'OK 3/5day'],
  ],
  'give units of a bucket back': [
    ['bucket=$ *3', 'OK 1'],
    ['bucket=$ *-2', 'OK 3'],
    ['bucket=$ *0', 'OK 3'],
  ],
  'give back no more than was used': [
    ['user=$', 'OK 4/5day'],
    ['user=$ *-5000', 'OK 5/5day'],
  ],
  'give back although another descriptor of the request is denied': [
    ['user=$ *4', 'OK 1/5day'],
    ['closed=x & user=$ *-3', 'OVER !/0day 4/5day'],
  ],
  'replace a limit by a larger one (replaces.sh)': [
    ['foo=$ bar=banned', 'OVER !/0day'],
    ['foo=$ bar=banned & source=proxy to=mock', 'OVER !/0day 1/1day'],
    ['foo=$ bar=banned & source=proxy to=override', 'OK - 1/2day', 'OK - 0/2day', 'OVER - !/2day'],
  ],
  'leave a limit as it was where nothing replaces it (replaces.sh)': [
    ['foo=$ bar=bkthomps & source=proxy to=bkthomps', 'OK - 1/2day', 'OK - 0/2day', 'OVER - !/2day'],
    ['foo=$ bar=bkthomps & source=proxy to=not_bkthomps', 'OK 0/1day -', 'OVER !/1day -'],
    ['foo=$ bar=bkthomps & source=proxy to=bkthomps', 'OVER - !/2day'],
  ],
  'replace several limits by one (replaces.sh)': [
    [
      'foo=$ bar=bkthomps & source=proxy to=fake & category=account',
      ...['OK - - 3/4day', 'OK - - 2/4day', 'OK - - 1/4day', 'OK - - 0/4day', 'OVER - - !/4day'],
    ],
    ['foo=$$ bar=bkthomps', 'OK 0/1day', 'OVER !/1day'],
    ['foo=$ bar=$ & source=proxy to=fake', 'OK 2/3day 1/2day', 'OK 1/3day 0/2day', 'OVER 1/3day !/2day'],
    ['foo=$ bar=bkthomps & source=proxy to=fake & category=account', 'OVER - - !/4day'],
  ],
};

const redis = useRedis();

describe.each([
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(redis.client, { prefix: 'sluice' })],
])('decisions over descriptors, on %s', (_name, storeOf) => {
  let running: RunningService;
  beforeAll(async () => {
    running = await runService(LIMITS, { store: storeOf(), timeoutMs: 60_000, token: 'secret' });
  });
  afterAll(() => running.close());

  const ask = (written: string, subject = 'x', options: AskOptions = {}): Promise<ResponseFields> =>
    running.ask(readRequest(written, subject), options);

  it.each(Object.entries(ROWS))('%s', async (title, steps) => {
    for (const [request, ...answers] of steps) {
      const found: string[] = [];
      while (found.length < answers.length) {
        found.push(writeAnswer(await ask(request, title.replaceAll(/\W/g, '-'), { authorization: TOKEN })));
      }
      expect([request, ...found]).toEqual([request, ...answers]);
    }
  });

  it('allow everything in an unknown domain', async () => {
    const { descriptors = [] } = readRequest('closed=x & new=x @1/DAY', 'x');

    expect(writeAnswer(await running.ask({ domain: 'other', descriptors }))).toBe('OK - -');
  });

  it('say when all is as if never used', async () => {
    const secondsOf = async (written: string): Promise<unknown> =>
      (await ask(written)).statuses?.[0]?.durationUntilReset?.seconds;

    expect([await secondsOf('bucket=seconds'), await secondsOf('hourly=seconds')]).toEqual([450, 3600]);
  });

  it.each<[string, RequestFields]>([
    ['UNKNOWN', { descriptors: [descriptor('user=x')] }],
    ['UNKNOWN', { domain: 'shop' }],
    ...[0, 8, -1].map((unit): [string, RequestFields] => [
      'INVALID_ARGUMENT',
      { domain: 'shop', descriptors: [descriptor('user=x', { limit: { requestsPerUnit: 1, unit } })] },
    ]),
    ['INVALID_ARGUMENT', readRequest('user=rejected & nothing=x *9007199254740992', 'x')],
  ])('reject with %s, and count nothing: %j', async (status, request) => {
    expect(await readStatus(running.ask(request))).toBe(status);
    expect(writeAnswer(await ask('user=rejected *0'))).toBe('OK 5/5day');
  });

  it('decide over 256 descriptors in one request', async () => {
    const many = Array.from({ length: 255 }, (_, i) => `user=many-${String(i)}`).join(' & ');
    for (let i = 0; i < 3; i++) expect((await ask(`${many} & path=many`)).overallCode).toBe('OK');

    expect((await ask(`${many} & path=many`)).overallCode).toBe('OVER_LIMIT');
    expect(writeAnswer(await ask('user=many-254 *0'))).toBe('OK 2/5day');
    expect(await readStatus(ask(`${many} & path=many & user=x`))).toBe('INVALID_ARGUMENT');
  });

  it.each([
    ['no token', undefined],
    ['another token', 'Bearer other'],
    ['half a token', 'Bearer secre'],
    ['another scheme', 'Basic secret'],
  ])('give nothing back to callers with %s, and change nothing', async (what, authorization) => {
    const user = `user=${what.replaceAll(' ', '-')}`;
    await ask(`${user} *2`);
    const options = authorization === undefined ? {} : { authorization };

    expect(await readStatus(ask(`${user} & ${user} *-1`, 'x', options))).toBe('PERMISSION_DENIED');
    expect(writeAnswer(await ask(`${user} *0`))).toBe('OK 3/5day');
    expect((await ask(`${user} *-1`, 'x', { authorization: TOKEN })).responseHeadersToAdd).toBeUndefined();
  });
});
