import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@sluice/testkit';
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { ConsulStub } from './consul-stub.ts';

let consul: ConsulStub;
const children: ChildProcess[] = [];
beforeEach(async () => {
  consul = await ConsulStub.start();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await consul.close();
});

function start(program: string, ...args: string[]): ChildProcess & { readonly stdout: NodeJS.ReadableStream } {
  const path = fileURLToPath(new URL(`../dist/esm/${program}.js`, import.meta.url));
  const env = { PORT: '0', CONSUL_HTTP_ADDR: new URL(consul.address).host, PATH: process.env['PATH'] };
  const child = spawn(process.execPath, [path, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  return child;
}

/** Starts the service; its address. */
async function serve(): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const child = start('main');
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  const url = await until('it listens', () => /Listening on (\S+),/.exec(output)?.[1]);
  return { url, child };
}

async function changeLimit(...args: string[]): Promise<string> {
  return text(start('change-limit', ...args).stdout);
}

describe('the service', () => {
  it('refuses while there is no limit in Consul, then follows it, without a restart', async () => {
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

  it.each(['SIGINT', 'SIGTERM'] as const)('ends on %s, although a question to Consul was open', async (signal) => {
    const { url, child } = await serve();
    await fetch(`${url}/orders`);
    await until('a question is held back', () => consul.held === 1);
    child.kill(signal);

    // `until` is not as patient as Consul, which holds the question for 30 seconds.
    expect(await until('it ends', () => child.exitCode ?? undefined)).toBe(0);
  });
});
