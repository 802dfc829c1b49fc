import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request as sendRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { consulAgents, ExampleProcess, findProgram, freePort, startProgram, useRedis } from '@sluice/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';

type Env = Readonly<Record<string, string>>;

const redis = useRedis();
const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function startRole(file: string, env: Env): Promise<[ExampleProcess, number]> {
  const role = new ExampleProcess(new URL(`../dist/${file}.js`, import.meta.url), env);
  endings.push(async () => {
    role.stop();
    expect(await role.ends()).toBe(0);
  });
  return [role, await role.listens()];
}

/** Starts the services, a gateway for each weight, and nginx with the configuration of the example on other ports. */
async function startAll(weights: readonly number[], env: Env) {
  const [[, orders], [, catalog]] = (await Promise.all(
    ['orders', 'catalog'].map((NAME) => startRole('service', { NAME })),
  )) as [[ExampleProcess, number], [ExampleProcess, number]];
  const services = {
    ORDERS_URL: `http://127.0.0.1:${String(orders)}`,
    CATALOG_URL: `http://127.0.0.1:${String(catalog)}`,
  };
  const gateways = await Promise.all(
    weights.map((weight, i) =>
      startRole('gateway', { ...env, ...services, NAME: `gateway-${String(i + 1)}`, WEIGHT: String(weight) }),
    ),
  );
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'sluice-gateway-'));
  const servers = gateways.map(
    ([, gateway], i) => `server 127.0.0.1:${String(gateway)} weight=${String(weights[i])} max_fails=1 fail_timeout=1s;`,
  );
  const conf = readFileSync(new URL('../nginx.conf', import.meta.url), 'utf8')
    .replace('127.0.0.1:8080', `127.0.0.1:${String(port)}`)
    .replace(/server 127[^]*;(?=\s+keepalive)/, servers.join('\n'));
  writeFileSync(join(folder, 'nginx.conf'), conf);
  // As root, its worker would be a user who may not write into the folder.
  const user = process.getuid?.() === 0 ? ['-g', 'user root;'] : [];
  const args = ['-e', 'stderr', '-p', folder, '-c', 'nginx.conf', ...user];
  const isReady = () => fetch(`http://127.0.0.1:${String(port)}`);
  const options = { folder, endsBy: 'SIGTERM' } as const;
  endings.push((await startProgram(findProgram('nginx') ?? 'nginx', args, isReady, options)).stop);
  const served = async (): Promise<number> =>
    ((await (await fetch(`${services.CATALOG_URL}/served`)).json()) as { served: number }).served;
  return { port, served, gateways: gateways.map(([gateway]) => gateway) };
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

let clients = 0;

/** A client with an address of its own, as all of 127.0.0.0/8 is this machine, and some connections that it keeps. */
function newClient(port: number, maxSockets = 8) {
  const localAddress = `127.2.0.${String(++clients)}`;
  const agent = new Agent({ keepAlive: true, maxSockets });
  endings.push(() => {
    agent.destroy();
  });
  const send = async (path: string, headers: Env = {}): Promise<Answer> => {
    const request = sendRequest({ host: '127.0.0.1', port, localAddress, agent, path, headers }).end();
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, headers: answer.headers, body: await json(answer) };
  };
  const sendMany = (times: number, path: string): Promise<Answer[]> =>
    Promise.all(Array.from({ length: times }, () => send(path)));
  return { address: localAddress, send, sendMany };
}

/** The requests of each window that their decisions fell into, on the clock that they were made by. */
function byWindow(answers: readonly Answer[], windowMs: number): { offered: number; allowed: number }[] {
  const windowOf = ({ headers }: Answer): number => Math.floor(Number(headers['x-decided-at']) / windowMs);
  const windows = [...new Set(answers.map(windowOf))].sort((a, b) => a - b);
  return windows.map((window) => {
    const own = answers.filter((answer) => windowOf(answer) === window);
    return { offered: own.length, allowed: own.filter(({ status }) => status === 200).length };
  });
}

/** The statuses, or the values of a field, each once. */
function seen(answers: readonly Answer[], field?: string): string[] {
  const values = answers.map(({ status, headers }) => String(field === undefined ? status : headers[field]));
  return [...new Set(values)].sort();
}

describe('a limit in Redis', () => {
  const LIMIT = 60;
  const HOUR_MS = 3_600_000;
  const start = () => startAll([1, 1], { REDIS_URL: redis.server.storeUrl, LIMIT: String(LIMIT), WINDOW: '1h' });

  it('holds over both gateways and all paths of a service, whatever addresses a client states, and when one is gone', async () => {
    const { port, gateways } = await start();
    const [client, other] = [newClient(port), newClient(port)];
    const paths = ['/orders', '/orders/7', '/orders/', '/orders?page=2', '/orders/%37'];
    const stated = (i: number) => ({
      'X-Forwarded-For': `203.0.113.${String(i)}, 127.0.0.1`,
      Forwarded: `for=203.0.113.${String(i)}`,
    });
    const ask = (i: number) => client.send(paths[i % paths.length] as string, stated(i));
    const answers = await Promise.all(Array.from({ length: LIMIT / 2 }, (_, i) => ask(i)));
    expect(seen(answers, 'x-gateway')).toEqual(['gateway-1', 'gateway-2']);

    gateways[0]?.stop();
    answers.push(...(await Promise.all(Array.from({ length: 2 * LIMIT }, (_, i) => ask(i)))));

    expect(seen(answers)).toEqual(['200', '429']);
    expect(seen(answers.slice(-20), 'x-gateway')).toEqual(['gateway-2']);
    // On the hour there are two windows.
    for (const { offered, allowed } of byWindow(answers, HOUR_MS)) expect(allowed).toBe(Math.min(offered, LIMIT));
    const denied = answers.find(({ status }) => status === 429);
    expect(denied?.body).toMatchObject({ status: 429, 'violated-policies': ['orders'] });
    expect([(await client.send('/catalog')).status, (await other.send('/orders')).status]).toEqual([200, 200]);
  });

  it("forwards the service's own answer once, with the RateLimit fields, and the address of the client to it", async () => {
    const { port, served } = await start();
    const { send, address } = newClient(port);
    const [answer, busy] = [await send('/orders'), await send('/catalog/busy')];

    expect(answer).toMatchObject({ status: 200, body: { service: 'orders', client: address } });
    expect(answer.headers['ratelimit-policy']).toBe(`"orders";q=${String(LIMIT)};w=3600`);
    expect(busy).toMatchObject({ status: 503, body: { service: 'catalog' } });
    expect(busy.headers['ratelimit']).toMatch(/^"catalog";r=59/);
    expect(await served()).toBe(1);
  });
});

type Registered = (weights: readonly number[]) => Promise<Env>;

/** Registers the gateways in Consul, as whatever starts them does. Nginx has the same weights. */
const registries = consulAgents().map(([name, start]): [string, Registered] => [
  name,
  async (weights) => {
    const consul = await start();
    endings.push(() => consul.close());
    for (const [i, Passing] of weights.entries()) {
      const body = { ID: `gateway-${String(i + 1)}`, Name: 'gateways', Weights: { Passing, Warning: 1 } };
      await fetch(`${consul.address}/v1/agent/service/register`, { method: 'PUT', body: JSON.stringify(body) });
    }
    return { CONSUL_HTTP_ADDR: consul.address };
  },
]);

it.each<[string, Registered]>([['Redis', () => Promise.resolve({ REDIS_URL: redis.server.url })], ...registries])(
  'a limit that three gateways split 3:1:1, by %s, is allowed in every window, but for at most 5 %%',
  async (_name, register) => {
    const LIMIT = 100;
    const WINDOW_MS = 3000; // so long that a slow machine sends enough in it
    const window = { LIMIT: String(LIMIT), WINDOW: `${String(WINDOW_MS)}ms` };
    const { port } = await startAll([3, 1, 1], { STORE: 'split', ...(await register([3, 1, 1])), ...window });
    const client = newClient(port, 16);
    /** Whole windows, without the first two: shares grow only after the grace time. */
    const wholeWindows = (of: readonly Answer[]) => byWindow(of, WINDOW_MS).slice(3, -1);
    const busy = (of: readonly Answer[]) => wholeWindows(of).filter(({ offered }) => offered >= 3 * LIMIT);
    const answers: Answer[] = [];
    while (busy(answers).length < 3) answers.push(...(await client.sendMany(200, '/orders')));

    expect([seen(answers), seen(answers, 'x-counted-in')]).toEqual([['200', '429'], ['split']]);
    expect(wholeWindows(answers).filter(({ allowed }) => allowed > LIMIT)).toEqual([]);
    expect(busy(answers).filter(({ allowed }) => allowed < 0.95 * LIMIT)).toEqual([]);
    for (const [gateway, share] of Object.entries({ 'gateway-1': 60, 'gateway-2': 20, 'gateway-3': 20 })) {
      const own = answers.filter(({ headers }) => headers['x-gateway'] === gateway);
      expect(wholeWindows(own).filter(({ allowed }) => allowed > share)).toEqual([]);
    }
  },
);
