import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLimiter, redisStore, silenceWarnings, type Limiter } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { createServer, type RunningServer } from '@sluice/server';
import { contents, useCli } from './sluice.ts';

silenceWarnings('SLUICE_POLICIES_LOST', 'SLUICE_POLICY_UNCONFIGURED');
const cli = useCli();
const limiters: Limiter[] = [];
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
});

const WHY = ['--by', 'eve', '--reason', 'a sale'];
const OVERRIDE = ['policy', 'override'];
const set = (...words: string[]): string[] => [
  ...OVERRIDE,
  'set',
  'orders',
  'fixedWindow',
  '--window',
  '1m',
  ...words,
  ...WHY,
];
const LIST = [...OVERRIDE, 'list', 'orders'];
const remove = (...words: string[]): string[] => [...OVERRIDE, 'remove', 'orders', ...words, ...WHY];

beforeEach(async () => {
  await cli.admin.flushall();
  await cli.sluice('policy', 'put', 'orders', 'fixedWindow', '--limit', '100', '--window', '1m', '--app', 'checkout');
});

async function limitFor(key: string): Promise<number> {
  const store = redisStore(cli.storeUrl, { prefix: 'sluice' });
  const limiter = createLimiter({ policy: managed('orders'), app: 'checkout', store, timeoutMs: 60_000 });
  limiters.push(limiter);
  return (await limiter.peek(key)).limit;
}

describe('policy override set', () => {
  it('gives a key, and keys with a prefix, other numbers, and prints the old ones beside them', async () => {
    const byPrefix = await cli.sluice(...set('--key-prefix', 'org-7:', '--limit', '200'));
    const byKey = await cli.sluice(...set('--key', 'org-7:ann', '--limit', '500'));
    const again = await cli.sluice(...set('--key', 'org-7:ann', '--limit', '500'));

    expect([byPrefix, byKey, again]).toEqual([
      {
        code: 0,
        err: '',
        out: 'created orders for org-7:*: fixedWindow 100 per 1m -> fixedWindow 200 per 1m (eve: a sale)',
      },
      {
        code: 0,
        err: '',
        out: 'created orders for org-7:ann: fixedWindow 200 per 1m -> fixedWindow 500 per 1m (eve: a sale)',
      },
      { code: 0, err: '', out: 'unchanged orders for org-7:ann: fixedWindow 500 per 1m (eve: a sale)' },
    ]);
    expect([await limitFor('org-7:ann'), await limitFor('org-7:bob'), await limitFor('ann')]).toEqual([500, 200, 100]);
  });

  it('changes nothing with --dry-run, and prints the old and the new numbers', async () => {
    await cli.sluice(...set('--key', 'ann', '--limit', '500'));
    const before = await contents(cli.admin);

    const words = ['--key', 'ann', '--limit', '900', '--until', '2100-01-01', '--dry-run'];
    const { out } = await cli.sluice(...set(...words));

    expect(out).toBe(
      'would be changed: orders for ann: fixedWindow 500 per 1m -> fixedWindow 900 per 1m, until 2100-01-01T00:00:00.000Z (eve: a sale)',
    );
    expect(await cli.json(...set(...words))).toMatchObject({
      change: 'changed',
      version: null,
      before: { limit: 500 },
      policy: { limit: 900 },
    });
    expect(await contents(cli.admin)).toEqual(before);
  });

  it.each([
    [['--limit', '5'], 'an override needs either --key or --key-prefix'],
    [['--limit', '5', '--key', 'a', '--key-prefix', 'b'], 'an override needs either --key or --key-prefix'],
    [
      ['--limit', '5', '--key', 'a', '--until', 'soon'],
      '--until takes an instant such as 2027-01-01T00:00:00Z, got "soon"',
    ],
    [['--limit', '5', '--key', 'a', '--until', '2001-01-01'], 'until must be later than now'],
    [['--key', 'a'], 'limit must be'],
  ])('takes no %j', async (words, message) => {
    const before = await contents(cli.admin);

    const { code, err } = await cli.sluice(...set(...words));

    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
    expect(await contents(cli.admin)).toEqual(before);
  });

  it('asks who and why', async () => {
    const { code, err } = await cli.sluice(...OVERRIDE, 'remove', 'orders', '--key', 'a', '--by', 'eve');

    expect([code, err]).toEqual([2, "sluice: required option '--reason <why>' not specified"]);
  });
});

describe('policy override list', () => {
  it('prints who set each, when and why', async () => {
    await cli.sluice(...set('--key', 'ann', '--limit', '500', '--until', '2100-01-01'));
    await cli.sluice(...set('--key-prefix', 'org-7:', '--limit', '20'));

    const { out } = await cli.sluice(...LIST);
    const some = await cli.json(...LIST, '--starts-with', 'org-');

    const instant = /\d{4}-\d\d-\d\dT[\d:.]+Z$/gm;
    expect(
      out
        .replace(instant, 'NOW')
        .split('\n')
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ['KEY', 'POLICY', 'UNTIL', 'BY', 'REASON', 'CHANGED'],
      ['ann', 'fixedWindow 500 per 1m', '2100-01-01T00:00:00.000Z', 'eve', 'a sale', 'NOW'],
      ['org-7:*', 'fixedWindow 20 per 1m', '-', 'eve', 'a sale', 'NOW'],
    ]);
    expect(some).toMatchObject([{ target: { prefix: 'org-7:' }, by: 'eve', reason: 'a sale', untilMs: null }]);
  });

  it('prints those that were removed with --ended alone, with who removed them', async () => {
    await cli.sluice(...set('--key', 'ann', '--limit', '500'));
    await cli.sluice(...OVERRIDE, 'remove', 'orders', '--key', 'ann', '--by', 'bob', '--reason', 'it has ended');

    const { out } = await cli.sluice(...LIST);
    const ended = await cli.json(...LIST, '--ended');

    expect(out).toBe('no overrides of orders');
    expect(ended).toMatchObject([{ target: 'ann', policy: null, by: 'bob', reason: 'it has ended' }]);
  });
});

describe('policy override remove', () => {
  it('gives its keys the numbers that count without it', async () => {
    await cli.sluice(...set('--key-prefix', 'org-7:', '--limit', '200'));
    await cli.sluice(...set('--key', 'org-7:ann', '--limit', '500'));

    const planned = await cli.sluice(...remove('--key', 'org-7:ann', '--dry-run'));
    const stillThere = await limitFor('org-7:ann');
    const byKey = await cli.sluice(...remove('--key', 'org-7:ann'));
    const byPrefix = await cli.sluice(...remove('--key-prefix', 'org-7:'));

    expect(stillThere).toBe(500);
    expect([planned, byKey, byPrefix].map(({ out }) => out)).toEqual([
      'would be removed: orders for org-7:ann: fixedWindow 500 per 1m -> fixedWindow 200 per 1m',
      'removed orders for org-7:ann: fixedWindow 500 per 1m -> fixedWindow 200 per 1m',
      'removed orders for org-7:*: fixedWindow 200 per 1m -> fixedWindow 100 per 1m',
    ]);
    expect(await limitFor('org-7:ann')).toBe(100);
  });

  it('fails where there is none, also where a prefix concerns the key', async () => {
    await cli.sluice(...set('--key-prefix', 'org-7:', '--limit', '200'));

    const byKey = await cli.sluice(...remove('--key', 'org-7:ann'));
    const byPrefix = await cli.sluice(...remove('--key-prefix', 'org-7:team:'));

    expect([byKey, byPrefix]).toEqual([
      { code: 1, out: '', err: 'sluice: orders has no override for the key org-7:ann' },
      { code: 1, out: '', err: 'sluice: orders has no override for keys that begin with org-7:team:' },
    ]);
  });
});

describe('policy override --service', () => {
  const TOKEN = 'a-token-of-the-tests';
  const servers: RunningServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });

  async function serve(): Promise<readonly string[]> {
    const config = cli.file(
      'limits: { shop: { managed: orders }, login: { fixedWindow: { limit: 5, window: 1m } } }',
      'limits.yaml',
    );
    const server = await createServer({
      ...{ config, token: TOKEN, timeoutMs: 60_000, log: () => undefined, redis: cli.storeUrl },
      ...{ grpc: 'off', http: '127.0.0.1:0', admin: 'off' },
    });
    servers.push(server);
    return ['--service', `http://${server.addresses.http ?? ''}`, '--token', TOKEN];
  }

  it('sets, lists and removes the overrides of a limit of the service', async () => {
    const service = await serve();
    const forAnn = ['shop', '--key', 'ann', ...WHY, ...service];
    const numbers = ['fixedWindow', '--limit', '500', '--window', '1m', '--until', '2100-01-01'];
    const setAnn = [...OVERRIDE, 'set', ...forAnn.slice(0, 1), ...numbers, ...forAnn.slice(1)];

    const planned = await cli.sluice(...setAnn, '--dry-run');
    const made = await cli.sluice(...setAnn);
    const listed = await cli.json(...OVERRIDE, 'list', 'shop', '--starts-with', 'a', ...service);
    const removed = await cli.sluice(...OVERRIDE, 'remove', ...forAnn);
    const again = await cli.sluice(...OVERRIDE, 'remove', ...forAnn);

    const numbersOfAnn =
      'orders for ann: fixedWindow 100 per 1m -> fixedWindow 500 per 1m, until 2100-01-01T00:00:00.000Z (eve: a sale)';
    expect([planned.err, made.err, removed.err]).toEqual(['', '', '']);
    expect([planned.out, made.out]).toEqual([`would be created: ${numbersOfAnn}`, `created ${numbersOfAnn}`]);
    expect(listed).toMatchObject([{ target: 'ann', policy: { limit: 500 }, by: 'eve' }]);
    expect(removed.out).toBe('removed orders for ann: fixedWindow 500 per 1m -> the numbers of shop');
    expect([again.code, again.err]).toEqual([1, 'sluice: shop has no override for the key ann']);
  });

  it('says why the service does not do it', async () => {
    const service = await serve();
    const own = await cli.sluice(...OVERRIDE, 'list', 'login', ...service);
    expect([own.code, own.err]).toEqual([1, expect.stringContaining('write its overrides there')]);
  });
});
