import { afterEach, describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/old-core';
import { fakeClock } from '@sluice/testkit';
import { serveHttp, type Answer, type HttpService, type HttpServiceOptions } from './http-service.ts';

const LIMITS = `limits:
  login: { fixedWindow: { limit: 5, window: 1h } }
  jobs: { concurrency: { limit: 2, ttl: 1m } }
`;
const TOKEN = 'a token of the tests';

const running: HttpService[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.close()));
});

async function serve(options: HttpServiceOptions = {}): Promise<HttpService> {
  const service = await serveHttp(LIMITS, options);
  running.push(service);
  return service;
}

const keys = { login: '42' };

describe('a wrong request', () => {
  it.each<[string, unknown, number, string]>([
    ['consume', undefined, 400, 'the body must be JSON'],
    ['consume', '{"keys":', 400, 'the body must be JSON'],
    ['consume', '[]', 400, 'the body must be an object with keys, got a list; nothing was done'],
    ['consume', 'null', 400, 'the body must be an object with keys, got null'],
    ['consume', {}, 400, 'the field keys is missing; expected keys, cost'],
    ['consume', { keys, costs: 2 }, 400, 'there is no field "costs"; did you mean cost?; nothing was done'],
    ['consume', { keys: 'login' }, 400, 'keys must be an object with a key under the name of each limit, got "login"'],
    ['consume', { keys: {} }, 400, 'keys must be an object with a key under the name of each limit, got an object'],
    ['consume', { keys: { login: 42 } }, 400, 'the key of login must be'],
    ['consume', { keys: { login: '' } }, 400, 'the key of login must'],
    ['consume', { keys: { login: null } }, 400, 'the key of login must be'],
    ['consume', '{"keys":{"__proto__":"x"}}', 404, 'there is no limit named "__proto__"; known: login, jobs'],
    ['consume', { keys: { toString: 'x' } }, 404, 'there is no limit named "toString"'],
    [
      'consume',
      { keys: { logins: 'x' } },
      404,
      'there is no limit named "logins"; known: login, jobs; nothing was done',
    ],
    ['consume', { keys, cost: -1 }, 400, 'cost must be a whole number from 0 to 2^53 - 1, got -1'],
    ['consume', { keys, cost: 1.5 }, 400, 'cost must be a whole number'],
    ['consume', { keys, cost: '1' }, 400, 'cost must be a whole number, got "1"'],
    ['consume', '{"keys":{"login":"42"},"cost":1e400}', 400, 'cost must be a whole number'],
    ['consume', { keys: { jobs: 'x' } }, 400, 'holds slots until they are released'],
    ['consume', { keys: { jobs: 'x' } }, 400, 'over HTTP these are /v1/acquire, /v1/renew and /v1/release'],
    ['refund', { keys: { login: 42 } }, 400, 'the key of login must be a text that is not empty, got 42'],
    ['refund', { keys: { login: null }, cost: 1 }, 400, 'the key of login must be a text'],
    ['charge', { keys: { login: ['42'] }, cost: 1 }, 400, 'the key of login must be a text'],
    ['charge', { keys }, 400, 'the field cost is missing; expected keys, cost'],
    ['refund', { keys: { jobs: 'x' } }, 400, 'holds slots, which belong to their holders'],
    ['reserve', { keys, estimate: 0 }, 400, 'an estimate is a whole number from 1 to 2^53 - 1, got 0'],
    ['settle', { reservation: 5, actual: 1 }, 400, 'reservation must be a text, got 5'],
    ['settle', { reservation: 'x.y', actual: -1 }, 400, 'settle takes the whole number of units that were used'],
    ['acquire', { keys }, 400, 'has no policy that holds slots'],
    ['acquire', { keys: { jobs: 'x' }, cost: 0 }, 400, 'a slot is at least 1 unit'],
    ['acquire', { keys: { jobs: 'x' }, holder: '' }, 400, 'holder must be a string that is not empty'],
    ['block', { keys, duration: '5 parsecs' }, 400, 'duration must be'],
    ['block', { keys, duration: '1m', reset: 1 }, 400, 'reset must be true or false, got 1'],
    ['eat', { keys }, 404, 'there is nothing at this path; known: /v1/consume, /v1/peek'],
    ['consume/', { keys }, 404, 'there is nothing at this path'],
    ['constructor', { keys }, 404, 'there is nothing at this path'],
  ])('to %s with %j is answered with what to write, and takes nothing', async (name, body, status, detail) => {
    const { post } = await serve();
    const answer = await post(name, body ?? '');

    expect(answer).toMatchObject({ status, type: 'application/problem+json', body: { type: 'about:blank', status } });
    expect((answer.body as { detail: string }).detail).toContain(detail);
    expect(await post('peek', { keys })).toMatchObject({ body: { used: 0 } });
  });

  it('has the code of the error, where there is one', async () => {
    const { post } = await serve();

    expect(await post('consume', { keys, cost: -1 })).toMatchObject({ body: { code: 'SLUICE_COST_INVALID' } });
    expect((await post('consume', { keys, cost: -1 })).body).not.toMatchObject({
      detail: expect.stringContaining('SLUICE_'),
    });
  });

  it('takes POST alone', async () => {
    const { request } = await serve();
    const answer = await request('/v1/consume');

    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it.each([['text/plain'], ['application/x-www-form-urlencoded'], ['application/jsonx'], ['']])(
    'is not taken as %j, which a page may send without asking',
    async (type) => {
      const { post } = await serve();

      expect(await post('consume', { keys }, { 'content-type': type })).toMatchObject({ status: 415 });
    },
  );

  it('has at most 64 KiB', async () => {
    const { post } = await serve();
    const body = (bytes: number): string => JSON.stringify({ keys }).padEnd(bytes);

    expect(await post('consume', body(65_536))).toMatchObject({ status: 200 });
    expect(await post('consume', body(65_537))).toMatchObject({ status: 413 });
  });

  it('is stopped where its length is not stated and it does not end', async () => {
    const { request } = await serve();
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent += 16_384;
        controller.enqueue(new Uint8Array(16_384).fill(32));
      },
    });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: endless, duplex: 'half' };
    const outcome = await request('/v1/consume', init as RequestInit).then(
      ({ status }) => status,
      () => 'connection closed',
    );

    expect([413, 'connection closed']).toContain(outcome);
    expect(sent).toBeLessThan(64 * 1_048_576);
  });
});

describe('who may refund, charge, reset, block and unblock', () => {
  const privileged = ['refund', 'charge', 'reset', 'block', 'unblock'];
  const body = (name: string): unknown => ({
    keys,
    ...(name === 'charge' ? { cost: 1 } : {}),
    ...(name === 'block' ? { duration: '1m' } : {}),
  });

  it.each(privileged)('%s: who has the token, or comes in where only this machine does', async (name) => {
    const [open, closed] = [await serve({ token: TOKEN, isPrivate: false }), await serve({ isPrivate: false })];
    const home = await serve();

    expect((await open.post(name, body(name))).status).toBe(401);
    expect((await open.post(name, body(name), { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await open.post(name, body(name), { authorization: `Bearer ${TOKEN.replaceAll(' ', '')}` })).status).toBe(
      401,
    );
    expect((await closed.post(name, body(name), { authorization: 'Bearer ' })).status).toBe(401);
    expect((await home.post(name, body(name))).status).toBe(204);
    expect((await home.post(name, body(name), { origin: 'http://example.com' })).status).toBe(403);
  });

  it('lets who has the token', async () => {
    const token = 'token-of-the-tests';
    const { post } = await serve({ token, isPrivate: false });
    for (const name of privileged) {
      expect((await post(name, body(name), { authorization: `Bearer ${token}` })).status).toBe(204);
    }
  });

  it('lets strangers do what takes or asks', async () => {
    const { post } = await serve({ isPrivate: false });

    expect((await post('consume', { keys })).status).toBe(200);
    expect((await post('acquire', { keys: { jobs: 'x' } })).status).toBe(200);
  });
});

describe('what a client keeps', () => {
  it.each([
    ['a', 'a', 204],
    ['a', 'b', 403],
    [undefined, undefined, 403],
  ])('is opened by a process with the same secret: %s, %s', async (one, other, expected) => {
    const store = memoryStore();
    const first = await serve({ store, isPrivate: false, ...(one === undefined ? {} : { secret: one }) });
    const second = await serve({ store, isPrivate: false, ...(other === undefined ? {} : { secret: other }) });
    const { reservation } = (await first.post('reserve', { keys, estimate: 1 })).body as Record<string, string>;

    expect((await second.post('settle', { reservation, actual: 1 })).status).toBe(expected);
  });

  it('cannot be made or changed by it', async () => {
    const { post } = await serve({ isPrivate: false });
    const { reservation } = (await post('reserve', { keys, estimate: 3 })).body as Record<string, string>;
    const { slot } = (await post('acquire', { keys: { jobs: 'x' } })).body as Record<string, string>;
    const [content = '', signature = ''] = (reservation ?? '').split('.');
    const forged = Buffer.from(Buffer.from(content, 'base64url').toString().replace('"estimate":3', '"estimate":9'));
    const texts = [
      ...['', 'x', '.', `${content}.`, `${content}.${'A'.repeat(22)}`, content, `${reservation ?? ''}.x`],
      `${forged.toString('base64url')}.${signature}`,
      slot,
    ];
    for (const text of texts) expect((await post('settle', { reservation: text, actual: 0 })).status).toBe(403);
    expect((await post('release', { slot: reservation })).status).toBe(403);

    expect(await post('peek', { keys })).toMatchObject({ body: { used: 3 } });
    expect((await post('settle', { reservation, actual: 0 })).status).toBe(204);
    expect(await post('peek', { keys })).toMatchObject({ body: { used: 0 } });
  });

  it('has a holder that other clients do not guess, or the caller has the token', async () => {
    const { post } = await serve({ isPrivate: false, token: 'token-of-the-tests' });
    const acquire = (holder: string, headers = {}): Promise<Answer> =>
      post('acquire', { keys: { jobs: 'x' }, holder }, headers);

    const guessed = await acquire('job-42');
    const [secret, again] = [await acquire('0b54ac6e-6d3f-4f19'), await acquire('0b54ac6e-6d3f-4f19')];
    const trusted = await acquire('job-42', { authorization: 'Bearer token-of-the-tests' });

    expect([guessed, secret, again, trusted].map(({ status }) => status)).toEqual([400, 200, 200, 200]);
    expect((guessed.body as { detail: string }).detail).toContain('at least 16 characters');
    expect(await post('acquire', { keys: { jobs: 'x' } })).toMatchObject({ body: { decision: { used: 2 } } });
  });

  it('gives back units of one reservation alone, however often and late it is sent', async () => {
    const clock = fakeClock();
    const { post } = await serve({ isPrivate: false, store: memoryStore({ clock }) });
    const { reservation } = (await post('reserve', { keys, estimate: 3 })).body as Record<string, string>;
    await post('settle', { reservation, actual: 0 });
    await post('consume', { keys, cost: 5 });
    for (const minutes of [0, 1, 8, 1, 30]) {
      clock.advance(minutes * 60_000);
      expect([204, 409]).toContain((await post('settle', { reservation, actual: 0 })).status);
    }

    expect(await post('peek', { keys })).toMatchObject({ body: { used: 5 } });
    expect((await post('settle', { reservation, actual: 0 })).status).toBe(409);
  });

  it('is charged beyond the limit for callers with the token alone', async () => {
    const token = 'token-of-the-tests';
    const { post } = await serve({ isPrivate: false, token });
    const [first, second] = [
      await post('reserve', { keys, estimate: 2 }),
      await post('reserve', { keys, estimate: 2 }),
    ];
    const settle = (answer: Answer, actual: number, headers?: Record<string, string>): Promise<Answer> =>
      post('settle', { reservation: (answer.body as Record<string, string>)['reservation'], actual }, headers);

    expect((await settle(first, 9)).status).toBe(204);
    expect(await post('peek', { keys })).toMatchObject({ body: { used: 5 } });
    expect((await settle(second, 9, { authorization: `Bearer ${token}` })).status).toBe(204);
    expect(await post('peek', { keys })).toMatchObject({ body: { used: 12 } });
  });

  it.each([
    ...[null, 1, {}, [], { id: 1, atMs: 1, estimate: 'x', parts: 5 }],
    { id: 'a', atMs: 1, estimate: 3, parts: [['login', 'x', 'y']] },
    { id: 'a', atMs: 1, estimate: 3, parts: [['login', 'x', ['y']]] },
  ])('is unknown where its content is %j, also of a caller that needs no signature', async (content) => {
    const { post } = await serve();
    const sealed = (kind: string): string =>
      `${Buffer.from(JSON.stringify([kind, content])).toString('base64url')}.${'A'.repeat(22)}`;

    expect((await post('settle', { reservation: sealed('reservation'), actual: 0 })).status).toBe(403);
    if (!Array.isArray(content)) expect((await post('release', { slot: sealed('slot') })).status).toBe(403);
  });

  it('is known to processes with the same token, and to no others', async () => {
    const [one, same] = [
      await serve({ token: TOKEN, isPrivate: false }),
      await serve({ token: TOKEN, isPrivate: false }),
    ];
    const other = await serve({ isPrivate: false });
    const { reservation } = (await one.post('reserve', { keys, estimate: 3 })).body as Record<string, string>;

    expect((await same.post('settle', { reservation, actual: 3 })).status).toBe(204);
    expect((await other.post('settle', { reservation, actual: 3 })).status).toBe(403);
  });
});
