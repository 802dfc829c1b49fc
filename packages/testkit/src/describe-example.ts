import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ExampleProcess } from './example-process.ts';
import { newClient, type HttpAnswer } from './http-client.ts';
import { open, received } from './raw-http.ts';
import { useRedis, type RunningRedis } from './use-redis.ts';

const SERVICE_LIMIT = 60;
const REPORT_LIMIT = 3;
const LOGIN_LIMIT = 5;
const FREE_LIMIT = 10;

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

interface Answer extends Omit<HttpAnswer, 'body'> {
  readonly body: Readonly<Record<string, unknown>>;
}

type Headers = Readonly<Record<string, string>>;

let clients = 0;

/** A client behind the proxy that an example trusts: its address is the last one in X-Forwarded-For. */
class ExampleClient {
  readonly address: string = `198.51.${String(++clients >> 7)}.${String(1 + (clients % 128))}`;
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  async get(path: string, headers?: Headers): Promise<Answer> {
    return this.#ask(path, headers);
  }

  /** The statuses of this many requests, one after another. */
  async statuses(count: number, path: string, headers?: Headers): Promise<number[]> {
    const seen = [];
    for (let i = 0; i < count; i++) seen.push((await this.get(path, headers)).status);
    return seen;
  }

  async logIn(user: string, password: string = getPassword(user)): Promise<Answer> {
    return this.#ask('POST /login', { 'content-type': 'application/json' }, JSON.stringify({ user, password }));
  }

  /** Logs in. Resolves to the headers of later requests. */
  async authorization(user: string): Promise<Headers> {
    return { authorization: `Bearer ${String((await this.logIn(user)).body['token'])}` };
  }

  async #ask(asked: string, headers: Headers = {}, body = ''): Promise<Answer> {
    const forwarded = [headers['x-forwarded-for'] ?? [], this.address].flat().join(', ');
    const sent = { headers: { ...headers, 'x-forwarded-for': forwarded }, body };
    const answer = await newClient(this.#port).ask(asked, sent);
    return { ...answer, body: JSON.parse(answer.body) as Answer['body'] };
  }
}

/** A user of every example: ann on the free plan, and bob on the paid one. */
function getPassword(user: string): string {
  return `${user}-secret`;
}

/**
 * The promises in the READMEs of the four framework examples, over HTTP: with limits in memory, and together on a
 * Redis.
 */
export function describeExample(main: URL): void {
  const redis = useRedis();

  describe('the example', () => {
    let example: ExampleProcess;
    let port: number;
    const newClient = (): ExampleClient => new ExampleClient(port);
    beforeAll(async () => {
      [example, port] = await start(main);
    });
    afterAll(async () => {
      example.stop();
      await example.ends();
    });

    it('allows each address 60 requests a minute, routes or not, whatever other addresses it states', async () => {
      const [busy, quiet] = [newClient(), newClient()];
      for (let i = 0; i < SERVICE_LIMIT - 2; i++) await busy.get('/', { 'x-forwarded-for': quiet.address });
      const atLast = [await busy.get('/nowhere'), await busy.get('/'), await busy.get('/')];

      expect(atLast.map(({ status }) => status)).toEqual([404, 200, 429]);
      expect(atLast.map(({ body }) => body['violated-policies'])).toEqual([undefined, undefined, ['service']]);
      expect(atLast[2]?.headers['retry-after']).toMatch(/^\d+$/);
      expect((await quiet.get('/')).body).toEqual({ address: quiet.address, left: SERVICE_LIMIT - 1 });
    });

    it('allows each address 3 reports an hour, which affect no other route', async () => {
      const [client, other] = [newClient(), newClient()];

      expect(await client.statuses(REPORT_LIMIT + 1, '/report')).toEqual([...times(REPORT_LIMIT, 200), 429]);
      expect((await client.get('/report')).body['violated-policies']).toEqual(['report']);
      expect([(await client.get('/')).status, (await other.get('/report')).status]).toEqual([200, 200]);
    });

    it('allows 5 failures a minute for an account from an address, then not even with the password', async () => {
      const [guesser, owner] = [newClient(), newClient()];
      const guesses = [];
      for (const spelling of ['carol', 'CAROL', ' carol', 'Carol ', 'cArol'])
        guesses.push((await guesser.logIn(spelling, 'guess')).status);
      const late = await guesser.logIn('carol');

      expect(guesses).toEqual(times(LOGIN_LIMIT, 401));
      expect([late.status, late.body['violated-policies']]).toEqual([429, ['login']]);
      expect([(await owner.logIn('carol')).status, (await guesser.logIn('bob')).status]).toEqual([200, 200]);
    });

    it('takes nothing for good logins, and denies one without an account', async () => {
      const client = newClient();
      const logins = [];
      for (let i = 0; i < 2 * LOGIN_LIMIT; i++) logins.push((await client.logIn('bob')).status);

      expect(logins).toEqual(times(2 * LOGIN_LIMIT, 200));
      expect((await client.logIn(' ')).status).toBe(403);
    });

    it('allows a user 10 orders a minute on the free plan, from whatever address, and more on the paid one', async () => {
      const [atHome, atWork] = [newClient(), newClient()];
      const [ann, bob] = [await atHome.authorization('ann'), await atWork.authorization('bob')];

      expect(await atHome.statuses(FREE_LIMIT - 1, '/orders', ann)).toEqual(times(FREE_LIMIT - 1, 200));
      expect(await atWork.statuses(2, '/orders', ann)).toEqual([200, 429]);
      expect((await atHome.get('/orders', ann)).body['violated-policies']).toEqual(['free']);
      expect(await atWork.statuses(2 * FREE_LIMIT, '/orders', bob)).toEqual(times(2 * FREE_LIMIT, 200));
      expect((await atWork.get('/orders', bob)).headers['ratelimit-policy']).toContain('"paid";q=100;w=60');
    });

    it('answers pending requests on SIGTERM, ends by itself, and has printed no warnings', async () => {
      const socket = await open(port);
      const body = JSON.stringify({ user: 'bob', password: getPassword('bob') });
      const fields = `Host: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}`;
      socket.write(`POST /login HTTP/1.1\r\n${fields}\r\nExpect: 100-continue\r\n\r\n`);
      await new Promise((resolve) => socket.once('data', resolve)); // 100 Continue: the request has arrived

      example.stop();
      await example.prints('Stopping');
      const answer = received(socket);
      socket.write(body);

      expect(await answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(await example.ends()).toBe(0);
      expect(example.stderr).toBe('');
    });
  });

  it('counts users together in two processes on one Redis', async () => {
    const both = [await startOnRedis(main, redis), await startOnRedis(main, redis)];
    const ports = both.map(([, port]) => port);
    const orders = [];
    for (const port of ports) {
      const client = new ExampleClient(port);
      orders.push(...(await client.statuses(6, '/orders', await client.authorization('ann'))));
    }
    expect(orders).toEqual([...times(FREE_LIMIT, 200), 429, 429]);
    for (const [example] of both) {
      example.stop();
      expect(await example.ends()).toBe(0);
    }
  });
}

async function start(main: URL, env: Readonly<Record<string, string>> = {}): Promise<[ExampleProcess, number]> {
  const example = new ExampleProcess(main, env);
  return [example, await example.listens()];
}

/** Starts an example, and waits until it reaches its Redis, because it limits in memory before that. */
async function startOnRedis(main: URL, { server, admin }: RunningRedis): Promise<[ExampleProcess, number]> {
  const [example, port] = await start(main, { REDIS_URL: server.storeUrl });
  const keys = await admin.dbsize();
  for (let i = 0; i < 30; i++) {
    await new ExampleClient(port).get('/');
    if ((await admin.dbsize()) > keys) return [example, port];
  }
  example.stop();
  throw new Error(`nothing is counted in Redis:\n${example.stdout}${example.stderr}`);
}
