import { describe, expect, it, jest } from '@jest/globals';
import * as channels from 'node:diagnostics_channel';
import { createHash } from 'node:crypto';
import { createLimiter, fixedWindow, memoryStore, slidingWindow, type Limiter } from '@sluice/old-core';
import { LimiterCore, limitOfPolicy, type LimitRef } from '@sluice/old-core/spi';
import { canonicalAddress } from '@sluice/old-http/spi';
import { page, type PageChange, type PageOptions } from '@sluice/page';
import type { KeyState } from '../src/key-actions.ts';
import type { Snapshot } from '../src/snapshot.ts';
import { ask, pageWith, TOKEN, useCleanUp } from './serve-page.ts';

const later = useCleanUp();

function limiterOf(name: string, limit = 2): Limiter {
  const limiter = createLimiter({ name, policy: fixedWindow({ limit, window: '1h' }) });
  later(() => limiter.close());
  return limiter;
}

const snapshotOf = async (made: ReturnType<typeof pageWith>): Promise<Snapshot> => (await ask(made, 'snapshot')).json;

describe('the options of page', () => {
  it.each<[string, unknown, string]>([
    ['neither token nor authorize', {}, 'token'],
    ['both', { token: TOKEN, authorize: () => true }, 'token'],
    ['an empty token', { token: '' }, 'token'],
    ['a token that the environment lacks', { token: undefined }, 'token'],
    ['an unknown way to show keys', { token: TOKEN, showKeys: 'no' }, 'showKeys'],
    ['what is no limiter', { token: TOKEN, limiters: [{}] }, 'limiters[0]'],
    ['a limiter of the new core', { token: TOKEN, limiters: [{ consume: () => undefined }] }, 'limiters[0]'],
    ['a path without its slash', { token: TOKEN, path: 'limits' }, 'path'],
    ['an unknown option', { token: TOKEN, tokens: 1 }, 'tokens'],
  ])('reject %s', (_what, options, field) => {
    expect(() => page(options as PageOptions)).toThrow(expect.objectContaining({ field }));
  });

  it('do not quote a token that is wrong', () => {
    expect(() => page({ token: 12345678 as unknown as string })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('1234') }),
    );
  });
});

describe('a page that is not made', () => {
  it('costs nothing: nothing is subscribed, and nothing after it is closed', async () => {
    // The channel is the whole process's, so the page's own calls are counted. `other` keeps it in the form that spies know.
    const other = (): undefined => undefined;
    channels.subscribe('sluice:decision', other);
    const decisions = channels.channel('sluice:decision');
    const subscribe = jest.spyOn(decisions, 'subscribe');
    const unsubscribe = jest.spyOn(decisions, 'unsubscribe');
    later(() => {
      jest.restoreAllMocks();
      channels.unsubscribe('sluice:decision', other);
    });

    jest.resetModules();
    const loaded = await import('@sluice/page');
    expect(loaded.page).not.toBe(page);
    expect(subscribe).not.toHaveBeenCalled();

    const made = loaded.page({ token: TOKEN });
    const listeners = subscribe.mock.calls;
    expect(listeners).toHaveLength(1);

    await made.close();

    expect(unsubscribe.mock.calls).toEqual(listeners);
    expect(unsubscribe.mock.results).toEqual([{ type: 'return', value: true }]);
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

    for (const [name, body] of [
      ['', undefined],
      ['snapshot', undefined],
      ['events', undefined],
      ['block', {}],
    ] as const) {
      const { status, headers, text } = await ask(made, name, body, { token: '', fields });

      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toMatch(/^Basic /);
      expect(text).not.toContain('<');
    }
  });

  it('gets in with the token, as a Bearer or as the password of any name, which the log shows', async () => {
    const made = pageWith();

    expect((await ask(made, 'snapshot')).json).toMatchObject({ operator: null });
    expect((await ask(made, 'snapshot', undefined, { fields: basic('ann', TOKEN) })).json).toMatchObject({
      operator: 'ann',
    });
  });

  it('is decided by authorize, which is given the request', async () => {
    const made = pageWith({
      token: undefined,
      authorize: (request: Request) => request.headers.get('x-user') === 'root' && 'ann',
    });

    expect((await ask(made, 'snapshot')).status).toBe(403);
    expect((await ask(made, 'snapshot', undefined, { fields: { 'x-user': 'root' } })).json).toMatchObject({
      operator: 'ann',
    });
  });

  it('is decided before a body is read', async () => {
    const made = pageWith();
    let pulled = 0;
    const body = new ReadableStream({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(65_536));
      },
    });

    const { status } = await made(
      new Request('http://localhost/limits/block', { method: 'POST', body, duplex: 'half' }),
    );

    expect([status, pulled]).toEqual([401, expect.any(Number)]);
    expect(pulled).toBeLessThan(3);
  });
});

describe('the file of the page', () => {
  it('runs only its own program and style, and cannot be framed or kept', async () => {
    const { status, headers, text } = await ask(pageWith(), '');

    expect(status).toBe(200);
    const policy = headers.get('content-security-policy') ?? '';
    const [, program = ''] = /<script>(.*)<\/script>/s.exec(text) ?? [];
    const [, style = ''] = /<style>(.*)<\/style>/s.exec(text) ?? [];
    for (const part of [program, style]) {
      expect(policy).toContain(`'sha256-${createHash('sha256').update(part).digest('base64')}'`);
    }
    expect(policy).toMatch(/^default-src 'none'/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(Buffer.byteLength(text)).toBeLessThan(60_000);
    expect(text).not.toMatch(/(src|href)="https?:/);
  });
});

describe('a snapshot', () => {
  it('shows what this process has decided, by limiter and policy', async () => {
    const made = pageWith();
    const limiter = limiterOf('api', 5);
    for (let i = 0; i < 7; i++) await limiter.consume('ann');
    await limiter.peek('ann');

    const { limiters, process: of } = await snapshotOf(made);

    expect(of.pid).toBe(process.pid);
    expect(limiters.filter(({ name }) => name === 'api')).toEqual([
      expect.objectContaining({
        ...{ name: 'api', store: 'memory', breaker: 'closed', keysInMemory: 1, sources: { memory: 7 } },
        policies: [
          expect.objectContaining({ name: 'api', text: 'fixedWindow 5 per 1h', allowed: 5, denied: 2, near: 2 }),
        ],
      }),
    ]);
  });

  it('shows the keys that are denied most and used most', async () => {
    const made = pageWith();
    const limiter = limiterOf('api', 3);
    for (const [key, times] of [
      ['ann', 5],
      ['bob', 9],
      ['eve', 2],
    ] as const)
      for (let i = 0; i < times; i++) await limiter.consume(key);

    const { denied, used } = await snapshotOf(made);

    const shown = { limiter: 'api', policy: 'api', id: expect.any(String) };
    expect(denied.keys).toEqual([
      { ...shown, key: 'bob', count: 6, atLeast: 6, atMost: 6 },
      { ...shown, key: 'ann', count: 2, atLeast: 2, atMost: 2 },
    ]);
    expect(used.keys.map(({ key, count }) => [key, count])).toEqual([
      ['ann', 3],
      ['bob', 3],
      ['eve', 2],
    ]);
  });

  it('shows the key of the limit that denied, where several limits have keys of their own', async () => {
    const made = pageWith();
    const limiter = createLimiter({
      name: 'both',
      limits: [
        { name: 'per-ip', policy: fixedWindow({ limit: 9, window: '1h' }) },
        { name: 'per-user', policy: fixedWindow({ limit: 1, window: '1h' }) },
      ],
    });
    later(() => limiter.close());
    for (let i = 0; i < 2; i++) await limiter.consume({ 'per-ip': '203.0.113.7', 'per-user': 'ann' });

    const { denied, used } = await snapshotOf(made);

    expect(denied.keys.map(({ key, policy }) => [key, policy])).toEqual([['ann', 'per-user']]);
    expect(used.keys.map(({ key }) => key).toSorted()).toEqual(['203.0.113.7', 'ann']);
  });

  it('shows the limiters that are given, and counts no others', async () => {
    const shown = limiterOf('shown', 1);
    const other = limiterOf('other', 1);
    const made = pageWith({ limiters: [shown] });
    for (const limiter of [shown, other, other]) for (let i = 0; i < 2; i++) await limiter.consume('ann');

    const { limiters, denied } = await snapshotOf(made);

    expect(limiters.map(({ name }) => name)).toEqual(['shown']);
    expect(denied.keys.map(({ limiter }) => limiter)).toEqual(['shown']);
  });

  it.each([
    ['markup', '<script>alert(1)</script>'],
    ['a text from right to left', '\u202Egnp.exe'],
    ['control characters', 'a\u0000\u001B[31m\r\nb'],
    ['what ends a string', '"}]\\\u2028</script>'],
  ])('has %s as it is, as a text of JSON', async (_what, key) => {
    const made = pageWith();
    const limiter = limiterOf('api', 1);
    for (let i = 0; i < 2; i++) await limiter.consume(key);

    const { headers, json } = await ask(made, 'snapshot');

    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect((json as Snapshot).denied.keys[0]?.key).toBe(key);
  });

  it('shows the beginning of a key of a megabyte, which can be blocked', async () => {
    const made = pageWith();
    const limiter = limiterOf('api', 1);
    const key = 'k'.repeat(1_000_000);
    for (let i = 0; i < 2; i++) await limiter.consume(key);

    const { text, json } = await ask(made, 'snapshot');
    const [first] = (json as Snapshot).denied.keys;
    await ask(made, 'block', { id: first?.id, duration: '1h', reason: 'long', by: 'ann' });

    expect(text.length).toBeLessThan(5_000);
    expect(first?.key).toMatch(/^k{256}… \(1000000 characters\)$/);
    expect((await limiter.peek(key)).outcome).toBe('blocked');
  });

  it('shows hashes in place of keys, everywhere, and finds the keys by them', async () => {
    const changes: PageChange[] = [];
    const made = pageWith({ showKeys: 'hashed', log: (change) => changes.push(change) });
    const limiter = limiterOf('api', 1);
    for (let i = 0; i < 2; i++) await limiter.consume('secret-user');

    const before = await ask(made, 'snapshot');
    const { id } = (before.json as Snapshot).denied.keys[0] as { id: string };
    const blocked = await ask(made, 'block', { id, duration: '1h', reason: 'x', by: 'ann' });
    const looked = await ask(made, 'key', { key: 'secret-user' });
    const after = await ask(made, 'snapshot');

    expect([before, blocked, looked, after].map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect([before, blocked, looked, after].filter(({ text }) => text.includes('secret-user'))).toEqual([]);
    expect(JSON.stringify(changes)).not.toContain('secret-user');
    expect((await limiter.peek('secret-user')).outcome).toBe('blocked');
  });

  it('comes again every second to a page that is open', async () => {
    const made = pageWith();
    const request = new Request('http://localhost/limits/events', { headers: { authorization: `Bearer ${TOKEN}` } });
    const reader = (await made(request)).body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    const first = new TextDecoder().decode((await reader.read()).value);
    const second = new TextDecoder().decode((await reader.read()).value);
    await reader.cancel();

    for (const text of [first, second]) expect(text).toMatch(/^data: \{"atMs":\d+,.*\}\n\n$/);
  });

  it('ends the pages that are open when it is closed', async () => {
    const made = pageWith();
    const request = new Request('http://localhost/limits/events', { headers: { authorization: `Bearer ${TOKEN}` } });
    const reader = (await made(request)).body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    const unread = await made(request);
    const first = new TextDecoder().decode((await reader.read()).value);

    await made.close();

    expect(first).toMatch(/^data: \{.*\}\n\n$/);
    expect([(await reader.read()).done, await unread.text()]).toEqual([true, '']);
  });
});

describe('a key that is looked up', () => {
  it('has its state under each limit that it has used', async () => {
    const made = pageWith();
    const limiter = limiterOf('api', 100);
    limiterOf('idle');
    await limiter.consume('ann', 87);

    const states: readonly KeyState[] = (await ask(made, 'key', { key: 'ann' })).json;

    expect(states).toEqual([
      expect.objectContaining({
        ...{ limiter: 'api', key: 'ann', outcome: 'allowed', retryAtMs: null },
        policies: [expect.objectContaining({ name: 'api', used: 87, limit: 100, remaining: 13, windowMs: 3_600_000 })],
      }),
    ]);
    expect((await limiter.peek('ann')).used).toBe(87);
  });

  it('is found as an address in the form that limiters count', async () => {
    const made = pageWith();
    const limiter = limiterOf('api');
    const ask64 = { key: '2001:db8:1:2:3:4:5:6' };
    const counted = ['203.0.113.7', canonicalAddress(ask64.key, 64) ?? ''];
    for (const key of counted) await limiter.consume(key);
    const keysOf = async (body: object): Promise<readonly string[]> =>
      ((await ask(made, 'key', body)).json as readonly KeyState[]).map(({ key }) => key);

    expect([...(await keysOf({ key: '::ffff:203.0.113.7' })), ...(await keysOf(ask64))]).toEqual(counted);
  });

  it('is an address in the form that limiters count where it has used nothing, so that a block of it holds', async () => {
    const made = pageWith();
    const limiter = limiterOf('api');
    const address = '2001:db8:1:2:3:4:5:6';

    const states: readonly KeyState[] = (await ask(made, 'key', { key: address })).json;
    const why = { id: states[0]?.id, duration: '1h', reason: 'r', by: 'ops' };
    const blocked = await ask(made, 'block', why);

    expect([states.map(({ key }) => key), blocked.status]).toEqual([[canonicalAddress(address, 64)], 200]);
    expect((await limiter.consume(canonicalAddress(address, 64) ?? '')).outcome).toBe('blocked');
  });

  it('has the numbers of the limit that decided, and without them where no decision was seen', async () => {
    const made = pageWith();
    const core = new LimiterCore({ name: 'plans' });
    core.claim();
    later(() => core.close());
    const [small, big] = [10, 100].map((limit) => limitOfPolicy(core, fixedWindow({ limit, window: '1h' }))) as [
      ...[LimitRef, LimitRef],
    ];
    await core.decide('consume', [{ limit: small, subject: 'small', cost: 1 }]);
    await core.decide('consume', [{ limit: big, subject: 'big', cost: 1 }]);
    const statesOf = async (key: string): Promise<readonly KeyState[]> => (await ask(made, 'key', { key })).json;

    const seen = await statesOf('big');
    const [unseen] = (await statesOf('eve')).filter(({ limiter: of }) => of === 'plans') as [KeyState];
    const block = { id: unseen.id, duration: '1h', reason: 'r', by: 'ops' };

    expect(seen).toEqual([expect.objectContaining({ policies: [expect.objectContaining({ used: 1, limit: 100 })] })]);
    expect(unseen).toMatchObject({ outcome: 'allowed', policies: [] });
    expect((await ask(made, 'block', block)).json).toMatchObject({ outcome: 'blocked' });
    expect(await core.decide('peek', [{ limit: big, subject: 'eve', cost: 1 }])).toMatchObject({ outcome: 'blocked' });
  });

  it('has its state under each limit where it has used nothing', async () => {
    const made = pageWith({ limiters: [limiterOf('a'), limiterOf('b')] as unknown as Limiter<never>[] });

    const states: readonly KeyState[] = (await ask(made, 'key', { key: 'ann' })).json;

    expect(states.map(({ limiter, policies }) => [limiter, policies[0]?.used])).toEqual([
      ['a', 0],
      ['b', 0],
    ]);
  });
});

describe('an action', () => {
  const idOf = async (made: ReturnType<typeof pageWith>, key: string): Promise<string> => {
    const [state] = (await ask(made, 'key', { key })).json as readonly KeyState[];
    return (state as KeyState).id;
  };

  it('blocks, unblocks and forgets, says the state after it, and is logged with who and why', async () => {
    const changes: PageChange[] = [];
    const made = pageWith({ log: (change) => changes.push(change) });
    const limiter = limiterOf('api', 1);
    await limiter.consume('ann');
    const id = await idOf(made, 'ann');
    const why = { id, reason: 'floods', by: 'ops' };

    const blocked = await ask(made, 'block', { ...why, duration: '10m' });
    const isBlocked = (await limiter.consume('ann')).outcome;
    const unblocked = await ask(made, 'unblock', why);
    const isDenied = (await limiter.consume('ann')).outcome;
    const forgotten = await ask(made, 'reset', why);
    const isAllowed = (await limiter.consume('ann')).outcome;

    expect([isBlocked, isDenied, isAllowed]).toEqual(['blocked', 'denied', 'allowed']);
    expect([blocked, unblocked, forgotten].map(({ json }) => (json as KeyState).outcome)).toEqual([
      'blocked',
      'denied',
      'allowed',
    ]);
    const common = { by: 'ops', reason: 'floods', target: 'ann of api', atMs: expect.any(Number) };
    expect(changes).toEqual([
      { ...common, action: 'block', detail: 'for 10m' },
      { ...common, action: 'unblock', detail: '' },
      { ...common, action: 'reset', detail: 'forgot what it has used' },
    ]);
    expect((await snapshotOf(made)).changes).toEqual(changes.toReversed());
  });

  it('takes the name of the login before the name that is written', async () => {
    const changes: PageChange[] = [];
    const made = pageWith({ token: undefined, authorize: () => 'ann', log: (change) => changes.push(change) });
    await limiterOf('api').consume('x');

    await ask(made, 'block', { id: await idOf(made, 'x'), duration: '1h', reason: 'r', by: 'eve' });

    expect(changes[0]?.by).toBe('ann');
  });

  it.each<[string, object, Record<string, string>, number]>([
    ['no reason', { duration: '1h', by: 'ops' }, {}, 400],
    ['no name', { duration: '1h', reason: 'r' }, {}, 400],
    ['a long reason', { duration: '1h', reason: 'r'.repeat(201), by: 'ops' }, {}, 400],
    ['no duration', { reason: 'r', by: 'ops' }, {}, 400],
    ['a bad duration', { duration: 'soon', reason: 'r', by: 'ops' }, {}, 400],
    ['a duration of ten years', { duration: '3650d', reason: 'r', by: 'ops' }, {}, 400],
    ['an unknown field', { duration: '1h', reason: 'r', by: 'ops', force: true }, {}, 400],
    ['an unknown key', { id: 'x', duration: '1h', reason: 'r', by: 'ops' }, {}, 404],
    ['a form of HTML', { duration: '1h', reason: 'r', by: 'ops' }, { 'content-type': 'text/plain' }, 415],
    ['no field that other sites cannot send', { duration: '1h', reason: 'r', by: 'ops' }, { 'x-sluice-page': '' }, 415],
    ['another site', { duration: '1h', reason: 'r', by: 'ops' }, { 'sec-fetch-site': 'cross-site' }, 403],
    ['a site of the same domain', { duration: '1h', reason: 'r', by: 'ops' }, { 'sec-fetch-site': 'same-site' }, 403],
    [
      'another origin',
      { duration: '1h', reason: 'r', by: 'ops' },
      { origin: 'https://evil.example', host: 'localhost' },
      403,
    ],
    ['the origin of no site', { duration: '1h', reason: 'r', by: 'ops' }, { origin: 'null', host: 'localhost' }, 403],
    ['more than 16 kB', { duration: '1h', reason: 'r', by: 'ops', more: 'x'.repeat(20_000) }, {}, 413],
  ])('with %s does nothing', async (_what, body, fields, status) => {
    const changes: PageChange[] = [];
    const made = pageWith({ log: (change) => changes.push(change) });
    const limiter = limiterOf('api');
    await limiter.consume('ann');
    const id = await idOf(made, 'ann');

    const answer = await ask(made, 'block', { id, ...body }, { fields });

    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect((await limiter.peek('ann')).outcome).toBe('allowed');
    expect(changes).toEqual([]);
  });

  it.each(['block', 'unblock', 'reset', 'override', 'end-override', 'key'])('is no GET: %s', async (name) => {
    const { status, headers } = await ask(pageWith(), name);

    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('does not say that a key is blocked before it is', async () => {
    const behind = memoryStore();
    const limiter = createLimiter({
      name: 'deaf',
      policy: slidingWindow({ limit: 5, window: '1m' }),
      store: {
        source: 'split',
        perform: (requests) => behind.perform(requests.filter(({ op }) => op !== 'block')),
      },
      onStoreError: 'throw',
    });
    later(() => limiter.close());
    const made = pageWith({ limiters: [limiter] });
    await limiter.consume('ann');

    const answer = await ask(made, 'block', { id: await idOf(made, 'ann'), duration: '1h', reason: 'r', by: 'ops' });

    expect(answer.status).toBe(409);
    expect((await snapshotOf(made)).changes).toEqual([]);
  });
});
