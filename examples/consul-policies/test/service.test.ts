import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConsulStub, freePort, until } from '@sluice/testkit';
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';

let consul: ConsulStub;
const children: ChildProcess[] = [];
beforeEach(async () => {
  consul = await ConsulStub.start();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await consul.close();
});

type Child = ChildProcess & Record<'stdout' | 'stderr', NodeJS.ReadableStream>;

function start(program: string, args: readonly string[] = [], address = new URL(consul.address).host): Child {
  const path = fileURLToPath(new URL(`../dist/${program}.js`, import.meta.url));
  const env = { PORT: '0', CONSUL_HTTP_ADDR: address, PATH: process.env['PATH'] };
  const child = spawn(process.execPath, [path, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  return child;
}

interface Service {
  readonly url: string;
  readonly child: ChildProcess;
  /** Its standard error output so far. */
  complaints(): string;
}

async function serve(): Promise<Service> {
  const child = start('main');
  let [output, complaints] = ['', ''];
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (complaints += String(chunk)));
  const url = await until('it listens', () => /Listening on (\S+),/.exec(output)?.[1]);
  return { url, child, complaints: () => complaints };
}

async function changeLimit(...args: string[]): Promise<string> {
  return text(start('change-limit', args).stdout);
}

describe('the service', () => {
  it('denies while there is no limit in Consul, then follows the limit, without a restart', async () => {
    const { url } = await serve();
    const before = await fetch(`${url}/orders`);

    expect(before.status).toBe(403);
    expect(await changeLimit('3', '10m')).toBe('orders: created\n');
    const first = await until('the limit is there', async () => {
      const answer = await fetch(`${url}/orders`);
      return answer.status === 200 && answer;
    });
    expect(first.headers.get('ratelimit-policy')).toBe('"orders";q=3;w=600');
    expect(await changeLimit('3', '10m')).toBe('orders: unchanged\n');
    expect(await changeLimit('50', '10m')).toBe('orders: changed\n');
    const after = await until('the limit is another', async () => {
      const answer = await fetch(`${url}/orders`);
      return answer.headers.get('ratelimit-policy') === '"orders";q=50;w=600' && answer;
    });
    expect(after.status).toBe(200);
  });

  it('reports at the start that Consul is away, denies until it is back, and follows it then', async () => {
    for (const which of ['reads', 'blocking queries'] as const) consul.befall(which, 'is cut');
    const { url, complaints } = await serve();
    const before = await fetch(`${url}/orders`);

    expect(before.status).toBe(503);
    await until('it says so', () =>
      complaints().includes(`requests get 503: the store failed: Consul at ${consul.address}`),
    );
    expect(complaints()).not.toMatch(/^ *at /m);
    for (const which of ['reads', 'blocking queries'] as const) consul.befall(which, undefined);
    await until(
      'Consul has answered that there is no limit',
      async () => (await fetch(`${url}/orders`)).status === 403,
    );
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('ends on %s, although a query to Consul is open', async (signal) => {
    const { url, child } = await serve();
    await fetch(`${url}/orders`);
    await until('a question is held back', () => consul.held === 1);
    child.kill(signal);

    // `until` waits for less than Consul, which blocks the query for 30 seconds.
    expect(await until('it ends', () => child.exitCode ?? undefined)).toBe(0);
  });
});

/** Runs a program to its end. */
async function failed(...given: Parameters<typeof start>): Promise<{ code: number | null; out: string; err: string }> {
  const child = start(...given);
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await until('it ends', () => child.exitCode ?? undefined), out, err };
}

describe('one line reports', () => {
  it('that Consul is unreachable', async () => {
    const address = `127.0.0.1:${String(await freePort())}`;

    const { code, out, err } = await failed('change-limit', ['3', '10s'], address);

    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(new RegExp(`^.*Consul at http://${address}, GET .*ECONNREFUSED.*\n$`));
  });

  it.each([
    ['abc', '10s', /^limit must be a whole number .*\n$/],
    ['3', 'soon', /^window must be a duration .*\n$/],
  ])('that there is no such limit: %s %s', async (limit, window, expected) => {
    const { code, err } = await failed('change-limit', [limit, window]);

    expect(code).toBe(1);
    expect(err).toMatch(expected);
  });

  it.each(['main', 'change-limit'])('that CONSUL_HTTP_ADDR is not an address: %s', async (program) => {
    const { code, out, err } = await failed(program, ['3', '10s'], 'ftp://127.0.0.1');

    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^CONSUL_HTTP_ADDR: address must be the http or https URL of an agent.*\n$/);
  });
});
