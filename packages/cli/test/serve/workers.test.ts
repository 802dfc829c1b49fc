import { describe, expect, it } from '@jest/globals';
import { exchange, until, useRedis } from '@sluice/testkit';
import { GrpcClient } from '../../../server/test/rls/grpc-client.ts';
import { consume, get, useServe, type Serving } from './serving.ts';

const redis = useRedis();
const { serve, file } = useServe();
const LIMITS = 'limits: { login: { fixedWindow: { limit: 20, window: 1h } } }\n';

const HEALTH = 'GET /healthcheck HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

async function served(...more: readonly string[]): Promise<Serving> {
  return serve(['--config', file(LIMITS), '--redis', redis.server.url, '--workers', '2', '--timeout', '60s', ...more]);
}

async function metric({ addresses }: Serving, name: string): Promise<number> {
  const { body } = await get(addresses['admin'] ?? '', '/metrics');
  const lines = body.split('\n').filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

async function workersOf({ pid }: Serving): Promise<readonly number[]> {
  const { readFile } = await import('node:fs/promises');
  const children = await readFile(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8');
  return children
    .trim()
    .split(' ')
    .filter((id) => id !== '')
    .map(Number);
}

describe('workers', () => {
  it('share the listeners and the limits, and answer for all in /metrics', async () => {
    const one = await served();
    const allowed = await Promise.all(Array.from({ length: 40 }, () => consume(one, 'login', 'shared')));

    expect(one.printed.out).toMatch(/, 2 workers\n$/);
    expect(allowed.filter(Boolean)).toHaveLength(20);
    expect(await metric(one, 'sluice_decisions_total{')).toBe(40);
  });

  it('are replaced when they end, and what they had counted stays', async () => {
    const one = await served();
    for (let i = 0; i < 6; i++) await consume(one, 'login', 'replaced');
    expect(await metric(one, 'sluice_decisions_total{')).toBe(6);
    const [first = 0] = await workersOf(one);
    process.kill(first, 'SIGKILL');
    await until('another one replaces it', () => one.printed.err.includes('another one replaces it'));
    for (let i = 0; i < 6; i++) await until('the others answer', () => consume(one, 'login', `after-${String(i)}`));
    await until('there are two again', async () => {
      const workers = await workersOf(one);
      return workers.length === 2 && !workers.includes(first);
    });

    await until('all are counted', async () => (await metric(one, 'sluice_decisions_total{')) >= 12);
  });

  it('killed with connections on their way leave none without an answer or an end, and the others answer', async () => {
    const one = await served();
    const port = Number(one.addresses['http']?.split(':').at(-1));
    const [first = 0] = await workersOf(one);
    process.kill(first, 'SIGSTOP'); // the next connection that it is given stays on its way
    const answers = Array.from({ length: 10 }, () => exchange(port, HEALTH).catch(() => 'ended'));
    await until('the others are answered', async () => (await exchange(port, HEALTH)).includes('200 OK'));
    process.kill(first, 'SIGKILL');
    const waitsMs: number[] = [];
    for (let asked = 0; asked < 5; asked++) {
      const askedAtMs = performance.now();
      expect(await exchange(port, HEALTH)).toContain('200 OK');
      waitsMs.push(performance.now() - askedAtMs);
    }

    expect((await Promise.all(answers)).filter((answer) => !answer.includes('200 OK')).length).toBeLessThan(2);
    expect(Math.min(...waitsMs)).toBeLessThan(100); // a worker that starts takes longer
  });

  it('all read the file at SIGHUP, and all end at SIGTERM', async () => {
    const one = await served('--shutdown-delay', '500ms');
    file(LIMITS.replace('login', 'other'));
    one.kill('SIGHUP');
    await until('all have read it', async () => {
      const all = await Promise.all(Array.from({ length: 10 }, () => consume(one, 'other').catch(() => undefined)));
      return all.every((allowed) => allowed !== undefined);
    });
    const workers = await workersOf(one);
    const client = new GrpcClient(`http://${one.addresses['grpc'] ?? ''}`);
    expect(await client.check()).toBe('SERVING');
    one.kill('SIGTERM');
    await until('health says so', async () => (await client.check()) === 'NOT_SERVING');

    expect(await one.ended).toBe(0);
    expect(client.isTold).toBe(true);
    expect(workers.filter(isAlive)).toEqual([]);
  });

  it('end when the process that has started them is killed', async () => {
    const one = await served();
    const workers = await workersOf(one);
    one.kill('SIGKILL');

    expect(workers).toHaveLength(2);
    await until('they end too', () => !workers.some(isAlive));
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
