import { freePort, startRedis, until } from '@sluice/testkit';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nginxPath } from '../src/programs.ts';
import { Client } from './client.ts';
import { env, System } from './system.ts';

const roles = ['gateway-1', 'gateway-2', 'orders', 'catalog'];

describe('the whole example', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('ends with all its processes on %s', async (signal) => {
    const system = await System.start();
    const pids = await pidsOf(system);
    system.child.kill(signal);

    expect(await system.ends()).toBe(0);
    expect(pids.filter(lives)).toEqual([]);
  });

  it('leaves nothing running when it is killed', async () => {
    const system = await System.start();
    const pids = await pidsOf(system);
    const folder = dirname(system.nginxConf);
    system.child.kill('SIGKILL');

    await until('all have ended', () => !pids.some(lives));
    rmSync(folder, { recursive: true });
  });

  it('prints commands to try', async () => {
    const system = await System.start('--limit', '3', '--window', '1m');
    const client = new Client(system.port);

    expect(system.output).toContain('An address may send 3 requests in 1m to each service');
    expect(system.output).toContain(`curl -si http://127.0.0.1:${String(system.port)}/orders\n`);
    expect((await client.send('/orders')).headers['ratelimit-policy']).toBe('"orders";q=3;w=60');
    client.close();
    await system.stop();
  });
});

describe('a problem at the start', () => {
  it.each([
    [['--store', 'disk'], '--store takes redis or split, got "disk"'],
    [['--weights', '3,0'], '--weights takes whole numbers from 1 to 1000, got "0"'],
    [['--window', '10 parsecs'], '--window takes a duration such as 500ms, 10s or 1m, got "10 parsecs"'],
    [
      ['--store', 'split', '--window', '1d'],
      '--window takes at most 60s with --store split, where a gateway has no share before a window begins, got "1d"',
    ],
    [['--redis', 'notaurl'], '--redis takes a URL such as redis://127.0.0.1:6379, got "notaurl"'],
    [['--redis', 'http://127.0.0.1:6379'], '--redis takes a URL such as'],
    [['--limits', '3'], "Unknown option '--limits'"],
  ])('is named: %j', async (args, message) => {
    const system = new System(args);

    expect(await system.ends()).toBe(1);
    expect(system.output).toContain(message);
    expect(system.output).toContain('Usage: npm start');
  });

  it('can be an unreachable Redis: reported in one line, before anything starts', async () => {
    const port = await freePort();
    const system = new System(['--redis', `redis://user:secret@127.0.0.1:${String(port)}`]);

    expect(await system.ends()).toBe(1);
    expect(system.output).toBe(
      `--redis names 127.0.0.1:${String(port)}, which does not answer: connect ECONNREFUSED 127.0.0.1:${String(port)}\n`,
    );
  });

  it('can be a program that is not installed', async () => {
    const system = new System([], { NGINX: nginxPath(env), REDIS_SERVER: '', PATH: '' });

    expect(await system.ends()).toBe(1);
    expect(system.output).toContain('redis-server or valkey-server is not installed. Debian, Ubuntu: apt-get install');
  });

  it('can be a port in use', async () => {
    const first = await System.start();
    const second = new System(['--port', String(first.port)]);

    expect(await second.ends()).toBe(1);
    expect(second.output).toContain(`port ${String(first.port)} of 127.0.0.1 is in use`);
    await first.stop();
  });
});

describe('a gateway by itself', () => {
  const file = fileURLToPath(new URL('../dist/gateway.js', import.meta.url));

  it('reports its address, and an unreachable service', async () => {
    const port = await freePort();
    const more = {
      PORT: '0',
      ORDERS_URL: `http://127.0.0.1:${String(port)}`,
      REDIS_URL: `redis://127.0.0.1:${String(port)}`,
    };
    const gateway = new System([], more, file);
    const [{ url }] = (await once(gateway.child, 'message')) as [{ url: string }];
    const answer = await fetch(`${url}/orders`);

    expect(answer.status).toBe(502);
    expect(await answer.json()).toEqual({ error: 'orders cannot be reached' });
    await gateway.stop();
  });

  it('ends with its parent process, also while it waits for its share', async () => {
    const redis = await startRedis();
    const admin = new Redis(redis.url);
    const gateway = new System([], { PORT: '0', STORE: 'split', WINDOW: '1d', REDIS_URL: redis.url }, file);
    await until('it is among the members', async () => (await admin.keys('*members*')).length > 0);
    const ended = once(gateway.child, 'exit');
    gateway.child.disconnect();

    expect(await ended).toEqual([0, null]);
    admin.disconnect();
    await redis.stop();
  });
});

/** All processes of it, nginx included. */
async function pidsOf(system: System): Promise<number[]> {
  const file = join(dirname(system.nginxConf), 'nginx.pid');
  // nginx listens before it writes the file.
  const nginx = await until('nginx has written its id', () => existsSync(file) && readFileSync(file, 'utf8'));
  return [...roles.map((role) => system.pidOf(role)), Number(nginx)];
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
