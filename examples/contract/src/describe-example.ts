import { freePort, open, received, useRedis, type RunningRedis } from '@sluice/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBehindProxy, type ExampleBehindProxy } from './behind-proxy.ts';
import { passwordOf, type Answer } from './client.ts';

const SERVICE_LIMIT = 60;
const REPORT_LIMIT = 3;
const LOGIN_LIMIT = 5;
const ACCOUNT_LIMIT = 20;
const FREE_LIMIT = 10;
/** Each waits for Redis as long as the example does. */
const MOST_REQUESTS_AHEAD = 30;

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
const violated = ({ body }: Answer): unknown => (body as Record<string, unknown>)['violated-policies'];

/**
 * The promises in the READMEs of the examples, over real HTTP through a proxy: with limits in memory, and in Redis.
 */
export function describeExample(name: string, main: URL): void {
  const redis = useRedis();

  describe.each([
    ['memory', () => startBehindProxy(main)],
    ['Redis', () => startOnRedis(main, redis)],
  ])(`examples/${name}, with its limits in %s`, (_where, start) => {
    let example: ExampleBehindProxy;

    beforeAll(async () => {
      await redis.admin.flushall();
      example = await start();
    });

    afterAll(async () => {
      await example.close();
    });

    it('prints where it listens, and two commands to try', () => {
      const url = `http://127.0.0.1:${String(example.port)}`;

      expect(example.process.stdout).toContain(`Listening on ${url}`);
      expect(example.process.stdout.match(new RegExp(`curl -si '${url}/.*`, 'g'))).toHaveLength(2);
    });

    describe('the limit of the whole service', () => {
      it('is 60 requests a minute for each address, including requests without a route', async () => {
        const client = example.newClient();
        await client.statuses(SERVICE_LIMIT - 2, '/');

        const atLast = [await client.get('/nowhere'), await client.get('/'), await client.get('/')];

        expect(atLast.map(({ status }) => status)).toEqual([404, 200, 429]);
        expect(atLast.map(violated)).toEqual([undefined, undefined, ['service']]);
        expect(atLast[2]?.headers['retry-after']).toMatch(/^\d+$/);
      });

      it('distinguishes the clients behind the proxy', async () => {
        const [busy, quiet] = [example.newClient(), example.newClient()];
        await busy.statuses(SERVICE_LIMIT, '/');

        expect((await busy.get('/')).status).toBe(429);
        expect((await quiet.get('/')).body).toEqual({ address: quiet.address, left: SERVICE_LIMIT - 1 });
      });

      it('gives no second budget to a client that forges addresses', async () => {
        const client = example.newClient();
        for (let i = 0; i < SERVICE_LIMIT; i++) await client.get('/', { 'x-forwarded-for': `203.0.113.${String(i)}` });

        expect((await client.get('/', { 'x-forwarded-for': '198.51.100.1' })).status).toBe(429);
        expect((await client.get('/')).status).toBe(429);
      });

      it('consumes nothing from a client whose address another client claims', async () => {
        const [liar, victim] = [example.newClient(), example.newClient()];
        await liar.statuses(SERVICE_LIMIT + 1, '/', { 'x-forwarded-for': victim.address });

        expect((await victim.get('/')).headers['ratelimit']).toMatch(/^"service";r=59;/);
      });
    });

    describe('the limit of the report', () => {
      it('is 3 an hour for each address', async () => {
        const [client, other] = [example.newClient(), example.newClient()];

        expect(await client.statuses(REPORT_LIMIT + 1, '/report')).toEqual([...times(REPORT_LIMIT, 200), 429]);
        expect(violated(await client.get('/report'))).toEqual(['report']);
        expect((await other.get('/report')).status).toBe(200);
      });

      it('does not affect other routes', async () => {
        const client = example.newClient();
        await client.statuses(REPORT_LIMIT + 1, '/report');

        expect((await client.get('/')).status).toBe(200);
      });
    });

    describe('the limits of the login', () => {
      it('are 5 failures a minute for an account from an address, then not even the password helps', async () => {
        const guesser = example.newClient();
        const statuses = [];
        for (let i = 0; i < LOGIN_LIMIT + 1; i++) statuses.push((await guesser.logIn('carol', 'guess')).status);
        const late = await guesser.logIn('carol', passwordOf('carol'));

        expect(statuses).toEqual([...times(LOGIN_LIMIT, 401), 429]);
        expect([late.status, violated(late)]).toEqual([429, ['login']]);
      });

      it('lock out neither the owner of the account nor other accounts at that address', async () => {
        const [guesser, owner] = [example.newClient(), example.newClient()];
        for (let i = 0; i < LOGIN_LIMIT + 1; i++) await guesser.logIn('dave', 'guess');

        expect((await owner.logIn('dave', passwordOf('dave'))).status).toBe(200);
        expect((await guesser.logIn('bob', passwordOf('bob'))).status).toBe(200);
      });

      it('cost nothing for good logins', async () => {
        const client = example.newClient();
        const statuses = [];
        for (let i = 0; i < 2 * LOGIN_LIMIT; i++) statuses.push((await client.logIn('bob', passwordOf('bob'))).status);

        expect(statuses).toEqual(times(2 * LOGIN_LIMIT, 200));
      });

      it('recognise an account in every spelling', async () => {
        const client = example.newClient();
        for (const spelling of ['erin', 'ERIN', ' erin', 'Erin ', 'eRin']) await client.logIn(spelling, 'guess');

        expect((await client.logIn('erin', passwordOf('erin'))).status).toBe(429);
      });

      it('deny a login without an account', async () => {
        expect((await example.newClient().logIn(' ', passwordOf(''))).status).toBe(403);
      });

      it('are 20 failures an hour for an account, wherever they come from, and denied ones do not count', async () => {
        for (let i = 0; i < ACCOUNT_LIMIT / LOGIN_LIMIT; i++) {
          const one = example.newClient();
          for (let guess = 0; guess < LOGIN_LIMIT + 2; guess++) await one.logIn('frank', 'guess');
        }
        const last = await example.newClient().logIn('frank', passwordOf('frank'));

        expect([last.status, violated(last)]).toEqual([429, ['account']]);
      });
    });

    describe('the limit of a user', () => {
      it('requires a login', async () => {
        const client = example.newClient();

        expect((await client.get('/orders')).status).toBe(401);
        expect((await client.get('/orders', { authorization: 'Bearer made-up' })).status).toBe(401);
      });

      it('is 10 a minute on the free plan, from whatever address', async () => {
        const [atHome, atWork] = [example.newClient(), example.newClient()];
        const ann = await atHome.authorization('ann');
        await atHome.statuses(FREE_LIMIT - 1, '/orders', ann);

        expect(await atWork.statuses(2, '/orders', ann)).toEqual([200, 429]);
        expect(violated(await atHome.get('/orders', ann))).toEqual(['free']);
      });

      it('is more on the paid plan', async () => {
        const client = example.newClient();
        const bob = await client.authorization('bob');

        expect(await client.statuses(2 * FREE_LIMIT, '/orders', bob)).toEqual(times(2 * FREE_LIMIT, 200));
        expect((await client.get('/orders', bob)).headers['ratelimit-policy']).toContain('"paid";q=100;w=60');
      });
    });

    describe('on SIGTERM', () => {
      it('answers pending requests, ends by itself, and prints no warnings', async () => {
        const socket = await open(example.port);
        const body = JSON.stringify({ user: 'bob', password: passwordOf('bob') });
        const headers = `Host: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}`;
        socket.write(`POST /login HTTP/1.1\r\n${headers}\r\nExpect: 100-continue\r\n\r\n`);
        await new Promise((resolve) => socket.once('data', resolve)); // 100 Continue: the request has arrived

        example.process.stop();
        await example.process.prints('Stopping');
        const answer = received(socket);
        socket.write(body);

        expect(await answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
        expect(await example.process.ends()).toBe(0);
        expect(example.process.stderr).toBe('');
      });
    });
  });

  describe(`examples/${name}, with an unreachable Redis`, () => {
    it('limits in memory, and ends by itself', async () => {
      const example = await startBehindProxy(main, { REDIS_URL: `redis://127.0.0.1:${String(await freePort())}` });
      const client = example.newClient();

      expect(await client.statuses(REPORT_LIMIT + 1, '/report')).toEqual([...times(REPORT_LIMIT, 200), 429]);
      await example.close();
      expect(await example.process.ends()).toBe(0);
    });
  });

  describe(`two processes of examples/${name} on one Redis`, () => {
    let examples: readonly ExampleBehindProxy[];

    beforeAll(async () => {
      await redis.admin.flushall();
      examples = [await startOnRedis(main, redis), await startOnRedis(main, redis)];
    });

    afterAll(async () => {
      await Promise.all(examples.map((example) => example.close()));
    });

    it('allow a user together what one process alone allows', async () => {
      const [first, second] = examples.map((example) => example.newClient());
      const allowed = await first?.statuses(FREE_LIMIT - 4, '/orders', await first.authorization('ann'));
      const rest = await second?.statuses(5, '/orders', await second.authorization('ann'));

      expect([...(allowed ?? []), ...(rest ?? [])]).toEqual([...times(FREE_LIMIT, 200), 429]);
    });

    it('count the failures of a login together', async () => {
      const clients = examples.map((example) => example.newClient());
      for (let i = 0; i < ACCOUNT_LIMIT / LOGIN_LIMIT; i++) {
        const one = (examples[i % 2] as ExampleBehindProxy).newClient();
        for (let guess = 0; guess < LOGIN_LIMIT; guess++) await one.logIn('frank', 'guess');
      }
      const answers = await Promise.all(clients.map((client) => client.logIn('frank', passwordOf('frank'))));

      expect(answers.map(({ status }) => status)).toEqual([429, 429]);
    });
  });
}

/** Starts an example, and waits until it reaches its Redis, because it limits in memory before that. */
async function startOnRedis(main: URL, { server, admin }: RunningRedis): Promise<ExampleBehindProxy> {
  const example = await startBehindProxy(main, { REDIS_URL: server.storeUrl });
  const keys = await admin.dbsize();
  for (let i = 0; i < MOST_REQUESTS_AHEAD; i++) {
    await example.newClient().get('/');
    if ((await admin.dbsize()) > keys) return example;
  }
  await example.close();
  throw new Error(`nothing is counted in Redis:\n${example.process.stdout}${example.process.stderr}`);
}
