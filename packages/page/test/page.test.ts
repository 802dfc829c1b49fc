import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  policyOf,
  type LimitEvent,
  type Limiter,
  type Store,
} from '@sluice/core';
import { canonicalAddress } from '@sluice/core/http';
import { createPolicies, managed } from '@sluice/core/managed';
import { page, type PageOptions } from '@sluice/page';
import { expectWarnings } from '@sluice/testkit';
import type { KeyState } from '../src/key-actions.ts';
import type { Snapshot } from '../src/snapshot.ts';
import { ask, closing, lookUp, pageWith, readSnapshot, TOKEN } from './serve-page.ts';

expectWarnings('SLUICE_POLICIES_LOST');

function limiterOf(name: string, limit = 2): Limiter {
  return closing(createLimiter({ name, policy: fixedWindow({ limit, window: '1h' }) }));
}

async function deny(limiter: Limiter, key: string, times: number): Promise<void> {
  for (let allowed = 0; allowed < times;) if (!(await limiter.consume(key)).allowed) allowed++;
}

const idOf = async (made: ReturnType<typeof pageWith>, key: string): Promise<string | undefined> =>
  (await lookUp(made, key))[0]?.id;

describe('the options of page', () => {
  it.each<[string, unknown, string]>([
    ['neither token nor authorize', {}, 'token'],
    ['both', { token: TOKEN, authorize: () => true }, 'token'],
    ['an empty token', { token: '' }, 'token'],
    ['a token that the environment lacks', { token: undefined }, 'token'],
    ['a token that is no text, without a part of it', { token: 12345678 }, 'token'],
    ['an unknown way to show keys', { token: TOKEN, showKeys: 'no' }, 'showKeys'],
    ['what is no limiter', { token: TOKEN, limiters: [{}] }, 'limiters[0]'],
    ['a path without its slash', { token: TOKEN, path: 'limits' }, 'path'],
    ['sharing that is not a flag', { token: TOKEN, share: 'yes' }, 'share'],
    ['an unknown option', { token: TOKEN, tokens: 1 }, 'tokens'],
  ])('reject %s', (_what, options, field) => {
    const message = expect.not.stringContaining('1234') as unknown;
    expect(() => page(options as PageOptions)).toThrow(expect.objectContaining({ field, message }));
  });
});

describe('who may use the page', () => {
  const basic = (name: string, token: string): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(`${name}:${token}`).toString('base64')}`,
  });

  it.each([
    ['no token', {}],
    ['another token', { authorization: 'Bearer a long secreT' }],
    ['another password', basic('ann', 'no')],
    ['another scheme', { authorization: `Digest ${TOKEN}` }],
    ['a field that would take long to read', { authorization: `Bearer ${' a'.repeat(30_000)}` }],
    ['an empty token', { authorization: 'Bearer ' }],
  ])('is asked for its name and the token with %s', async (_what, fields) => {
    const made = pageWith();
    const asked = ['', 'live', 'snapshot', 'block'].map((name) =>
      ask(made, name, name === 'block' ? {} : undefined, { token: '', fields }),
    );

    for (const { status, headers, text } of await Promise.all(asked)) {
      expect([status, headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Basic /)]);
      expect(text).not.toContain('<');
    }
  });

  it('gets in with the token, as a Bearer or as the password of any name, which the log shows', async () => {
    const made = pageWith();
    const named = await ask(made, 'snapshot', undefined, { fields: basic('ann', TOKEN) });

    expect([(await readSnapshot(made)).operator, (named.json as Snapshot).operator]).toEqual([null, 'ann']);
  });

  it('is decided by authorize, which is given the request, and whose name is taken before one that is written', async () => {
    const changes: LimitEvent[] = [];
    const isRoot = (request: Request): string | false => request.headers.get('x-user') === 'root' && 'ann';
    const made = pageWith({ token: undefined, authorize: isRoot, log: (change) => changes.push(change) });
    await limiterOf('api').consume('x');
    const root = { fields: { 'x-user': 'root' } };
    const states = (await ask(made, 'key', { key: 'x' }, root)).json as readonly KeyState[];

    await ask(made, 'block', { id: states[0]?.id, duration: '1h', reason: 'r', by: 'eve' }, root);

    expect((await ask(made, 'snapshot')).status).toBe(403);
    expect((await ask(made, 'snapshot', undefined, root)).json).toMatchObject({ operator: 'ann' });
    expect(changes).toMatchObject([{ what: 'block', by: 'ann' }]);
  });

  it('is decided before a body is read', async () => {
    let pulled = 0;
    const body = new ReadableStream({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const request = new Request('http://localhost/limits/block', { method: 'POST', body, duplex: 'half' });

    expect((await pageWith()(request)).status).toBe(401);
    expect(pulled).toBeLessThan(3);
  });
});

describe('the page', () => {
  it('runs only its own program and style, and cannot be framed or kept', async () => {
    const { status, headers, text } = await ask(pageWith(), '');

    const policy = headers.get('content-security-policy') ?? '';
    for (const part of [/<script>(.*)<\/script>/s, /<style>(.*)<\/style>/s].map((tag) => tag.exec(text)?.[1] ?? '')) {
      expect(policy).toContain(`'sha256-${createHash('sha256').update(part).digest('base64')}'`);
    }
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(policy).toMatch(/^default-src 'none'.*form-action 'none'; frame-ancestors 'none'; require-trusted-types/);
    expect(policy).not.toContain('unsafe');
    expect(text).not.toMatch(/(src|href)="https?:/);
  });

  it('says who is denied by which limit, and how often in the last hour, also as JSON', async () => {
    const made = pageWith();
    const limiter = limiterOf('api', 5);
    await deny(limiter, 'ann', 2);
    await limiter.peek('ann');

    const { text } = await ask(made, 'live');
    const { limiters, process: of } = await readSnapshot(made);

    expect(text.replaceAll(/<[^>]*>|\s+/g, ' ').replaceAll(/ +/g, ' ')).toMatch(
      / memory answers, no policies lost\. .* Denials in the last hour 2 ; most in a minute: 2, .* ann 2 denials api fixedWindow 5 per 1h Block … .* api store memory, keys in memory: 1, p50 [\d.]+ ms, p99 [\d.]+ ms api fixedWindow 5 per 1h 5 allowed 2 denied /,
    );
    expect(of.pid).toBe(process.pid);
    expect(limiters.filter(({ name }) => name === 'api')).toEqual([
      {
        ...{ name: 'api', store: 'memory', breaker: 'closed', keysInMemory: 1 },
        ...{ p50Ms: expect.any(Number), p99Ms: expect.any(Number) },
        policies: [expect.objectContaining({ name: 'api', text: 'fixedWindow 5 per 1h', allowed: 5, denied: 2 })],
      },
    ]);
    expect(limiters[0]?.policies[0]?.deniedByMinute.at(-1)).toBe(2);
  });

  it.each([
    ['markup', '<script>alert(1)</script>', '&#60;script&#62;alert(1)&#60;/script&#62;'],
    ['what ends an attribute', '"onclick=x', '&#34;onclick=x'],
    ['a text from right to left', '\u202Egnp.exe', '\\u{202e}gnp.exe'],
    ['control characters', 'a\u0000\u001B[31m\r\nb', 'a\\u{0}\\u{1b}[31m\\u{d}\\u{a}b'],
  ])('shows %s in a key as text', async (_what, key, shown) => {
    const made = pageWith();
    await deny(limiterOf('api', 1), key, 1);
    const fields = { accept: 'text/html' };

    for (const { text } of [await ask(made, 'live'), await ask(made, 'key', { key }, { fields })]) {
      expect(text).toContain(`<bdi>${shown}</bdi>`);
      expect(text).not.toContain(key);
    }
  });
});

describe('a snapshot', () => {
  it('has the keys that are denied most, by the limit that denied them', async () => {
    const made = pageWith();
    const limit = (max: number) => fixedWindow({ limit: max, window: '1h' });
    const limits = [
      { name: 'per-ip', policy: limit(9) },
      { name: 'per-user', policy: limit(1) },
    ];
    const both = closing(createLimiter({ name: 'both', limits }));
    for (let i = 0; i < 4; i++) await both.consume({ 'per-ip': '203.0.113.7', 'per-user': 'ann' });
    await deny(limiterOf('api'), 'bob', 6);

    const { denied } = await readSnapshot(made);

    const denial = (count: number, used: number): unknown => expect.objectContaining({ count, used, limit: used });
    expect(denied.keys).toEqual([
      { id: expect.any(String), limiter: 'api', policy: 'api', key: 'bob', count: 6, denials: [denial(6, 2)] },
      { id: expect.any(String), limiter: 'both', policy: 'per-user', key: 'ann', count: 3, denials: [denial(3, 1)] },
    ]);
  });

  it('says which managed policies their source has lost, and who still has them', async () => {
    const records: Record<string, unknown> = { orders: { policy: fixedWindow({ limit: 5, window: '1h' }) } };
    const policies = createPolicies({ load: () => Promise.resolve({ ...records }) });
    const orders = closing(createLimiter({ name: 'shop', policy: managed('orders'), policies }));
    await orders.consume('ann');
    delete records['orders'];
    await policies.list();

    const { text } = await ask(pageWith({ limiters: [orders] }), '');

    expect(text.replace(/\s+/g, ' ')).toContain(
      `<bdi>orders</bdi> is lost from its source, still in process ${String(process.pid)} on`,
    );
  });

  it('has the limiters that are given, and no others', async () => {
    const [shown, other] = [limiterOf('shown', 1), limiterOf('other', 1)];
    const made = pageWith({ limiters: [shown] });
    for (const limiter of [shown, other]) await deny(limiter, 'ann', 1);

    const { limiters, denied } = await readSnapshot(made);

    expect([limiters.map(({ name }) => name), denied.keys.map(({ limiter }) => limiter)]).toEqual([
      ['shown'],
      ['shown'],
    ]);
  });

  it('has the beginning of a key of a megabyte, which can be blocked', async () => {
    const made = pageWith();
    const limiter = limiterOf('api', 1);
    const key = 'k'.repeat(1_000_000);
    await deny(limiter, key, 1);

    const { text, json } = await ask(made, 'snapshot');
    const [first] = (json as Snapshot).denied.keys;
    await ask(made, 'block', { id: first?.id, duration: '1h', reason: 'long', by: 'ann' });

    expect(text.length).toBeLessThan(5_000);
    expect(first?.key).toMatch(/^k{256}… \(1000000 characters\)$/);
    expect((await limiter.peek(key)).outcome).toBe('blocked');
  });
});

describe('a key that is looked up', () => {
  it('has its state under each limit that it has used, and in words', async () => {
    const made = pageWith();
    const limiter = limiterOf('api', 100);
    limiterOf('idle');
    await limiter.consume('ann', 87);

    const { text } = await ask(made, 'key', { key: 'ann' }, { fields: { accept: 'text/html' } });

    expect(await lookUp(made, 'ann')).toEqual([
      expect.objectContaining({
        ...{ limiter: 'api', key: 'ann', outcome: 'allowed', retryAtMs: null, managed: null },
        policies: [expect.objectContaining({ name: 'api', used: 87, limit: 100, remaining: 13, windowMs: 3_600_000 })],
      }),
    ]);
    expect((await limiter.peek('ann')).used).toBe(87);
    expect(text).toMatch(/api: 87 of 100 in 1h, 13 left, all 100 at <time datetime="[^"]+">/);
  });

  it('is found as an address in the form that limiters count', async () => {
    const made = pageWith();
    const limiter = limiterOf('api');
    const address = '2001:db8:1:2:3:4:5:6';
    const counted = ['203.0.113.7', canonicalAddress(address, 64) ?? ''];
    for (const key of counted) await limiter.consume(key);

    const found = [...(await lookUp(made, '::ffff:203.0.113.7')), ...(await lookUp(made, address))];

    expect(found.map(({ key }) => key)).toEqual(counted);
  });

  it('is an address in the form that limiters count if it has used nothing, so that a block of it holds', async () => {
    const made = pageWith();
    const limiter = limiterOf('api');
    const key = canonicalAddress('2001:db8:1:2:3:4:5:6', 64) ?? '';

    const states = await lookUp(made, '2001:db8:1:2:3:4:5:6');
    await ask(made, 'block', { id: states[0]?.id, duration: '1h', reason: 'r', by: 'ops' });

    expect(states.map((state) => state.key)).toEqual([key]);
    expect((await limiter.consume(key)).outcome).toBe('blocked');
  });

  it('has the numbers of the policy that a function returns for it', async () => {
    const made = pageWith();
    const [small, big] = [1, 100].map((limit) => fixedWindow({ limit, window: '1h' }));
    const policy = policyOf((key) => (key === 'big' ? big : small));
    const limiter = closing(createLimiter({ name: 'plans', policy }));
    await limiter.consume('big');

    expect(await lookUp(made, 'big')).toMatchObject([{ policies: [{ used: 1, limit: 100 }], managed: null }]);
    expect(await lookUp(made, 'eve')).toMatchObject([{ policies: [{ used: 0, limit: 1 }] }]);
  });

  it('has its state under each limit if it has used nothing', async () => {
    const made = pageWith({ limiters: [limiterOf('a'), limiterOf('b')] as unknown as Limiter<never>[] });

    expect((await lookUp(made, 'ann')).map(({ limiter, policies }) => [limiter, policies[0]?.used])).toEqual([
      ['a', 0],
      ['b', 0],
    ]);
  });
});

describe('an action', () => {
  it('blocks, unblocks and forgets, says the state after it, and is told with who and why, by an address in any spelling', async () => {
    const changes: LimitEvent[] = [];
    const made = pageWith({ log: (change) => changes.push(change) });
    const limiter = limiterOf('logged', 1);
    const key = '203.0.113.7';
    await limiter.consume(key);
    const why = { id: await idOf(made, key), reason: 'floods', by: 'ops' };
    const outcomes = [];
    for (const [action, more] of [['block', { duration: '10m' }], ['unblock'], ['reset']] as const) {
      const { json } = await ask(made, action, { ...why, ...more });
      outcomes.push((json as KeyState).outcome, (await limiter.consume(key)).outcome);
    }

    expect(outcomes).toEqual(['blocked', 'blocked', 'denied', 'denied', 'allowed', 'allowed']);
    const common = {
      ...{ by: 'ops', reason: 'floods', limit: 'logged', key },
      atMs: expect.any(Number),
      endAtMs: null,
    };
    expect(changes).toEqual([
      { ...common, what: 'block', before: null, after: 'for 10m' },
      { ...common, what: 'unblock', before: null, after: null },
      { ...common, what: 'reset', before: null, after: null },
    ]);
    const { events } = (await ask(made, `snapshot?limit=logged&key=::ffff:${key}`)).json as Snapshot;
    expect(events.map((one) => [one.what, one.key, one.before, one.after])).toEqual([
      ['reset', key, '1 of 1 used', '0 of 1 used'],
      ['unblock', key, '1 of 1 used, blocked for 10m', '1 of 1 used'],
      ['block', key, '1 of 1 used', '1 of 1 used, blocked for 10m'],
    ]);
  });

  const why = { duration: '1h', reason: 'r', by: 'ops' };
  it.each<[string, object, Record<string, string>, number]>([
    ['no reason', { ...why, reason: undefined }, {}, 400],
    ['no name', { ...why, by: undefined }, {}, 400],
    ['a long reason', { ...why, reason: 'r'.repeat(201) }, {}, 400],
    ['no duration', { ...why, duration: undefined }, {}, 400],
    ['a bad duration', { ...why, duration: 'soon' }, {}, 400],
    ['a duration of ten years', { ...why, duration: '3650d' }, {}, 400],
    ['an unknown key', { ...why, id: 'x' }, {}, 404],
    ['a form of HTML', why, { 'content-type': 'text/plain' }, 415],
    ['no field that other sites cannot send', why, { 'x-sluice-page': '' }, 415],
    ['another site', why, { 'sec-fetch-site': 'cross-site' }, 403],
    ['a site of the same domain', why, { 'sec-fetch-site': 'same-site' }, 403],
    ['another origin', why, { origin: 'https://evil.example', host: 'localhost' }, 403],
    ['the origin of no site', why, { origin: 'null', host: 'localhost' }, 403],
    ['more than 16 kB', { ...why, more: 'x'.repeat(20_000) }, {}, 413],
  ])('with %s does nothing', async (_what, body, fields, status) => {
    const changes: LimitEvent[] = [];
    const made = pageWith({ log: (change) => changes.push(change) });
    const limiter = limiterOf('api');
    await limiter.consume('ann');

    const answer = await ask(made, 'block', { id: await idOf(made, 'ann'), ...body }, { fields });

    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/problem+json']);
    expect([(await limiter.peek('ann')).outcome, changes]).toEqual(['allowed', []]);
  });

  it('is no GET, and no property of every object', async () => {
    const made = pageWith({ path: '/limits' });
    for (const name of ['block', 'unblock', 'reset', 'override', 'end-override', 'key']) {
      const { status, headers } = await ask(made, name);
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    }

    for (const name of ['constructor', '__proto__']) expect((await ask(made, name, {})).status).toBe(404);
  });

  it('does not say that a key is blocked before it is', async () => {
    const behind = memoryStore();
    const perform: Store['perform'] = (op, asks) => behind.perform(op === 'block' ? 'peek' : op, asks);
    const store = { source: 'deaf', perform };
    const policy = fixedWindow({ limit: 5, window: '1m' });
    const limiter = closing(createLimiter({ name: 'deaf', policy, store, onStoreError: 'throw' }));
    const changes: LimitEvent[] = [];
    const made = pageWith({ limiters: [limiter], log: (change) => changes.push(change) });
    await limiter.consume('ann');

    const answer = await ask(made, 'block', { ...why, id: await idOf(made, 'ann') });

    expect([answer.status, changes]).toEqual([409, []]);
  });
});
