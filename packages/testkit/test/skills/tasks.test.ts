import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { memoryStore, redisStore, type Limiter, type Store } from '@sluice/core';
import { fakeClock } from '@sluice/core/testing';
import { until, useRedis } from '@sluice/testkit';

/** What a framework's application is to these tests. */
interface Served {
  listen(port: number, host: string): { address(): unknown; close(): unknown };
}
type Send = (path: string, headers?: Readonly<Record<string, string>>, body?: unknown) => Promise<Response>;

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

async function answer<Answer>(task: string): Promise<Answer> {
  return (await import(`./answers/${task}.ts`)) as Answer;
}

function sendTo(port: number): Send {
  return async (path, headers = {}, body?: unknown) =>
    fetch(`http://127.0.0.1:${String(port)}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...headers, 'content-type': 'application/json', connection: 'close' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}

async function served(app: Served): Promise<Send> {
  const server = app.listen(0, '127.0.0.1') as ReturnType<Served['listen']> & NodeJS.EventEmitter;
  opened.push(() => server.close());
  await once(server, 'listening');
  return sendTo((server.address() as AddressInfo).port);
}

interface FastifyApp {
  listen(options: { port: number; host: string }): Promise<string>;
  close(): Promise<unknown>;
}
async function servedByFastify(app: FastifyApp): Promise<Send> {
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  opened.push(async () => app.close());
  return sendTo(Number(new URL(url).port));
}

async function statuses(count: number, send: () => Promise<Response>): Promise<readonly number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i++) all.push((await send()).status);
  return all;
}

it.each(readdirSync(new URL('answers', import.meta.url)))('%s uses what the skill of its package names', (file) => {
  const text = readFileSync(new URL(`answers/${file}`, import.meta.url), 'utf8');
  const [, names = '', name = ''] = /import (?:sluice, )?\{([^}]*)\} from '@sluice\/(\w+)'/.exec(text) ?? [];
  const skill = readFileSync(new URL(`../../../${name}/SKILL.md`, import.meta.url), 'utf8');

  const used = names.split(',').map((one) => /(\w+)(?: as \w+)?$/.exec(one.trim())?.[1] ?? '');

  expect(used.filter((one) => !skill.includes(one))).toEqual([]);
  expect(used.length).toBeGreaterThan(0);
});

describe('login', () => {
  const redis = useRedis();
  type Answer = { createApp(store: Store): Served };
  const logIn = async (send: Send, from: string, user: string, password = 'wrong'): Promise<Response> =>
    send('/login', { 'x-forwarded-for': from }, { user, password });

  it('limits failures by address with account, and by account, for as long as it is asked to', async () => {
    const { createApp } = await answer<Answer>('login');
    const clock = fakeClock(0);
    const send = await served(createApp(memoryStore({ clock })));

    expect(await statuses(4, async () => logIn(send, '203.0.113.1', 'ann', 'right'))).toEqual([200, 200, 200, 200]);
    expect(await statuses(4, async () => logIn(send, '203.0.113.1', 'ann'))).toEqual([401, 401, 401, 429]);
    expect((await logIn(send, '203.0.113.1', ' ANN ')).status).toBe(429);
    expect((await logIn(send, '203.0.113.1', 'bob')).status).toBe(401);
    for (let i = 2; i < 9; i++) expect((await logIn(send, `203.0.113.${String(i)}`, 'Ann')).status).toBe(401);
    expect((await logIn(send, '203.0.113.10', 'ann')).status).toBe(429);
    expect((await logIn(send, '203.0.113.10', 'eve')).status).toBe(401);
    clock.advance(17 * 60_000);
    expect((await logIn(send, '203.0.113.1', 'bob')).status).toBe(401);
    expect((await logIn(send, '203.0.113.1', 'ann')).status).toBe(429);
    clock.advance(60 * 60_000);
    expect((await logIn(send, '203.0.113.1', 'ann')).status).toBe(401);
  });

  it('counts in Redis where it is given a store there', async () => {
    const { createApp } = await answer<Answer>('login');
    const send = await served(createApp(redisStore(redis.client, { prefix: 'sluice' })));

    await until('Redis holds a count', async () => {
      await logIn(send, '203.0.113.1', 'ann');
      return (await redis.admin.keys('*')).length > 0;
    });
  });
});

describe('plans', () => {
  type Answer = { createApp(): Served };

  it('gives each user the limit of its plan', async () => {
    const { createApp } = await answer<Answer>('plans');
    const send = await served(createApp());
    const ask = async (user: string, plan: string): Promise<Response> =>
      send('/orders', { 'x-user': user, 'x-plan': plan });

    expect(await statuses(3, async () => ask('ann', 'free'))).toEqual([200, 200, 429]);
    expect(await statuses(6, async () => ask('bob', 'paid'))).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await statuses(1, async () => ask('eve', 'free'))).toEqual([200]);
  });
});

describe('costs', () => {
  type Answer = { createApp(): Promise<FastifyApp> };

  it('counts mails, and not requests', async () => {
    const { createApp } = await answer<Answer>('costs');
    const send = await servedByFastify(await createApp());
    const mail = async (count: number): Promise<Response> =>
      send(
        '/mails',
        {},
        Array.from({ length: count }, () => 'a@b'),
      );

    const first = await mail(6);
    expect([first.status, await first.json()]).toEqual([200, 6]);
    expect((await mail(5)).status).toBe(429);
    expect((await mail(4)).status).toBe(200);
    expect((await mail(1)).status).toBe(429);
    expect((await mail(0)).status).toBe(200);
  });
});

describe('several', () => {
  type Answer = { createLimiter(store: Store): Limiter };

  it('decides both limits together', async () => {
    const { createLimiter } = await answer<Answer>('several');
    const clock = fakeClock(0);
    const limiter = createLimiter(memoryStore({ clock }));
    opened.push(async () => limiter.close());
    const ask = async (): Promise<boolean> => (await limiter.consume('ann')).allowed;

    expect([await ask(), await ask(), await ask()]).toEqual([true, true, false]);
    clock.advance(2000);
    expect([await ask(), await ask()]).toEqual([true, false]);
    clock.advance(2000);
    expect(await ask()).toBe(false);
    expect((await limiter.consume('bob')).allowed).toBe(true);
    clock.advance(2 * 86_400_000);
    expect(await ask()).toBe(true);
  });
});

describe('report', () => {
  type Answer = { createApp(wouldDeny: (key: string) => void): Served };

  it('denies no request, and tells of each request that it would deny', async () => {
    const { createApp } = await answer<Answer>('report');
    const told: string[] = [];
    const send = await served(createApp((key) => told.push(key)));

    expect(await statuses(2, async () => send('/'))).toEqual([200, 200]);
    const third = await send('/');

    expect([third.status, third.headers.get('ratelimit'), third.headers.get('retry-after')]).toEqual([200, null, null]);
    expect(told).toEqual(['127.0.0.1', '127.0.0.1']);
  });
});

describe('tokens', () => {
  type Model = (prompt: string) => Promise<{ text: string; tokens: number }>;
  type Answer = { askWith(store: Store): (user: string, prompt: string, model: Model) => Promise<string | undefined> };
  const using =
    (tokens: number): Model =>
    async (prompt) =>
      Promise.resolve({ text: `${prompt}!`, tokens });

  it('takes what a call has used, and no call begins that may not fit', async () => {
    const { askWith } = await answer<Answer>('tokens');
    const ask = askWith(memoryStore());

    expect(await ask('ann', 'a', using(100))).toBe('a!');
    expect(await Promise.all([1, 2, 3].map(async () => ask('ann', 'b', using(400))))).toEqual(['b!', 'b!', undefined]);
    expect(await ask('ann', 'c', using(1))).toBeUndefined();
    expect(await ask('bob', 'd', using(1))).toBe('d!');
  });

  it('takes nothing for a model that fails', async () => {
    const { askWith } = await answer<Answer>('tokens');
    const ask = askWith(memoryStore());
    const broken: Model = async () => Promise.reject(new Error('broken'));

    for (let i = 0; i < 3; i++) await expect(ask('ann', 'a', broken)).rejects.toThrow('broken');

    expect(await Promise.all([1, 2].map(async () => ask('ann', 'b', using(400))))).toEqual(['b!', 'b!']);
  });
});

describe('waiting', () => {
  type Answer = { runAll<Result>(jobs: readonly (() => Promise<Result>)[]): Promise<readonly Result[]> };

  it('runs two jobs at a time, over all calls', async () => {
    const { runAll } = await answer<Answer>('waiting');
    let [running, most] = [0, 0];
    const job = (result: number) => async (): Promise<number> => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return result;
    };

    const results = await Promise.all([runAll([job(1), job(2), job(3)]), runAll([job(4), job(5)])]);

    expect(results).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    expect(most).toBe(2);
  });
});

describe('routes', () => {
  type Answer = { createApp(): Promise<FastifyApp> };

  it('limits the application, and a route beside it', async () => {
    const { createApp } = await answer<Answer>('routes');
    const send = await servedByFastify(await createApp());

    expect(await statuses(2, async () => send('/report'))).toEqual([200, 429]);
    const [first, unknown, health] = [await send('/'), await send('/nowhere'), await send('/health')];
    expect([first.status, unknown.status, health.status]).toEqual([200, 404, 200]);
    expect(health.headers.get('ratelimit')).toBeNull();
    expect(await statuses(96, async () => send('/'))).toEqual(Array.from({ length: 96 }, () => 200));
    expect([(await send('/')).status, (await send('/nowhere')).status, (await send('/health')).status]).toEqual([
      429, 429, 200,
    ]);
  });
});

describe('nestjs', () => {
  type Answer = { AppModule: new () => object };

  it('limits a handler by user, and leaves one out', async () => {
    const { AppModule } = await answer<Answer>('nestjs.legacy');
    const { NestFactory } = await import('@nestjs/core');
    const app = await NestFactory.create(AppModule, { logger: false });
    opened.push(async () => app.close());
    await app.listen(0, '127.0.0.1');
    const send = sendTo(Number(new URL(await app.getUrl()).port));

    expect(await statuses(2, async () => send('/report', { 'x-user': 'ann' }))).toEqual([200, 429]);
    expect(await statuses(1, async () => send('/report', { 'x-user': 'bob' }))).toEqual([200]);
    expect(await statuses(1, async () => send('/report'))).toEqual([403]);
    expect((await send('/health')).headers.get('ratelimit')).toBeNull();
  });
});

describe('fetch', () => {
  type Answer = { createHandler(store: Store): (request: Request, peer: string) => Promise<Response> };

  it('limits a route by the address that the server passes', async () => {
    const { createHandler } = await answer<Answer>('fetch');
    const handle = createHandler(memoryStore());
    const ask = async (id: string, peer: string): Promise<number> =>
      (await handle(new Request(`http://localhost/notes/${id}`), peer)).status;

    expect([await ask('1', '203.0.113.1'), await ask('2', '203.0.113.1'), await ask('3', '203.0.113.1')]).toEqual([
      200, 200, 429,
    ]);
    expect(await ask('1', '203.0.113.2')).toBe(200);
  });
});
