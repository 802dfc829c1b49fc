import { freePort, startRedis, type RedisServer } from '@sluice/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { DemoProcess, findRow, killAll, ON_TERMINAL, tableRow } from './demo-process.ts';

const LIMITS = ['address', 'login', 'account', 'search', 'export'];
/** Those who wait when told, and how many requests of theirs a run has at least. */
const WELL_BEHAVED = { reader: 120, crawler: 20 };
const ESCAPE = '\u001b';
const HIDE_CURSOR = `${ESCAPE}[?25l`;
const SHOW_CURSOR = `${ESCAPE}[?25h`;
const SCREEN_SWITCH = new RegExp(`${ESCAPE}\\[\\?1049[hl]`);
const COLOUR = new RegExp(`${ESCAPE}\\[\\d*m`);
const CTRL_C = '\u0003';

afterAll(killAll);

const hasDenied = (drawn: string, row: string): boolean => (findRow(drawn, row)?.denied ?? 0) > 0;

describe('a run', () => {
  let demo: DemoProcess;
  let summary: string;

  // It goes on until its display shows that the clients have reached every limit, however slow the machine is.
  beforeAll(async () => {
    demo = new DemoProcess({ NO_COLOR: '1' }, ON_TERMINAL);
    await demo.draws(
      (drawn) =>
        LIMITS.every((limit) => hasDenied(drawn, limit)) &&
        // On most machines the crawler has reached its limit seconds before, and waits.
        Object.entries(WELL_BEHAVED).every(([client, sent]) => (findRow(drawn, client)?.offered ?? 0) >= sent),
    );
    demo.types(CTRL_C);
    expect(await demo.ends()).toBe(0);
    [, , summary = ''] = demo.stdout.split(SCREEN_SWITCH);
  });

  it.each(LIMITS)('denies and allows requests by the limit %s', (limit) => {
    const { allowed, denied } = tableRow(summary, limit);

    expect(allowed).toBeGreaterThan(0);
    expect(denied).toBeGreaterThan(0);
  });

  it.each(Object.keys(WELL_BEHAVED))('denies the well-behaved %s next to never', (client) => {
    const { offered, denied } = tableRow(summary, client);

    expect(denied).toBeLessThanOrEqual(offered / 100);
  });

  it('limits password guesses to the configured numbers', () => {
    expect(tableRow(summary, 'sprayer').allowed).toBe(5);
    expect(tableRow(summary, 'botnet').allowed).toBe(10);
  });

  it('counts every request that was sent as offered', () => {
    const sent = ['reader', 'crawler', 'bursty', 'hammer', 'scraper', 'sprayer', 'botnet'].map(
      (kind) => tableRow(summary, kind).offered,
    );

    expect(tableRow(summary, 'address').offered).toBe(sent.reduce((sum, one) => sum + one));
  });

  it('shows a denial', () => {
    expect(summary).toMatch(/^ {2}HTTP\/1\.1 429 Too Many Requests$/m);
    expect(summary).toMatch(/^ {2}Retry-After: \d+$/m);
  });
});

describe('a run without a terminal', () => {
  it('prints how to get a denial, and its table, ends by itself, and prints text alone', async () => {
    const demo = new DemoProcess({ DURATION: '1s' });
    const exitCode = await demo.ends();

    expect({ exitCode, stderr: demo.stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(demo.stdout).toMatch(/curl -si -d user=me 'http:\/\/127\.0\.0\.1:\d+\/login\?\[1-6\]'/);
    expect(tableRow(demo.stdout, 'address').offered).toBeGreaterThan(0);
    expect(demo.stdout).not.toContain(ESCAPE);
  });
});

describe('a run that is stopped', () => {
  it('still prints its table', async () => {
    const demo = new DemoProcess({});
    await demo.prints('curl');
    demo.signal('SIGINT');

    expect(await demo.ends()).toBe(0);
    expect(demo.stdout).toContain('allowed');
  });
});

describe('with Redis', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(async () => {
    await redis.stop();
  });

  it('two at once allow together what one alone allows', async () => {
    const env = { REDIS_URL: redis.storeUrl, NO_COLOR: '1' };
    const demos = [new DemoProcess(env, ON_TERMINAL), new DemoProcess(env, ON_TERMINAL)];
    const guessers = ['sprayer', 'botnet'];
    const areDenied = (drawn: string): boolean => guessers.every((client) => hasDenied(drawn, client));
    await Promise.all(demos.map((demo) => demo.draws(areDenied)));
    for (const demo of demos) demo.types(CTRL_C);
    expect(await Promise.all(demos.map((demo) => demo.ends()))).toEqual([0, 0]);

    const allowed = (client: string): number =>
      demos.reduce((sum, { stdout }) => sum + tableRow(stdout, client).allowed, 0);
    expect(allowed('sprayer')).toBe(5);
    expect(allowed('botnet')).toBe(10);
    for (const { stdout } of demos) {
      const [, , summary = ''] = stdout.split(SCREEN_SWITCH);
      expect(summary).toMatch(/\(source "redis"\): [\d,]+ decisions; in local memory: 0\./);
      expect(summary).toContain('account "admin": 10 of 10 taken');
    }
  });

  it('continues in local memory, and reports it, when Redis is unreachable', async () => {
    const port = await freePort();
    const demo = new DemoProcess({ REDIS_URL: `redis://me:secret@127.0.0.1:${String(port)}`, DURATION: '1s' });

    expect(await demo.ends()).toBe(0);
    expect(demo.stderr).toContain(
      `Redis cannot be reached: asked redis://me:***@127.0.0.1:${String(port)} for a decision`,
    );
    expect(demo.stderr).toContain(
      `there is no connection to 127.0.0.1:${String(port)}: connect ECONNREFUSED 127.0.0.1:${String(port)} [SLUICE_STORE_FAILED]`,
    );
    expect(demo.stdout).toMatch(/: 0 decisions; in local memory: [1-9]/);
  });

  it('ends by itself, with its table, although Redis accepts connections and never answers', async () => {
    const silent = await startRedis();
    process.kill(silent.pid, 'SIGSTOP');
    const demo = new DemoProcess({ REDIS_URL: silent.storeUrl, DURATION: '1s' });

    expect(await demo.ends()).toBe(0);
    expect(demo.stderr).toMatch(
      /there is no connection to 127\.0\.0\.1:\d+: it has not answered yet \[SLUICE_STORE_FAILED\]/,
    );
    expect(demo.stdout).toMatch(/: 0 decisions; in local memory: [1-9]/);
    await silent.stop();
  });
});

describe('on a terminal', () => {
  it('draws in place until Ctrl-C, then gives the terminal back and prints the table', async () => {
    const demo = new DemoProcess({}, ON_TERMINAL);
    await demo.prints('reader');
    demo.types(CTRL_C);

    expect(await demo.ends()).toBe(0);
    const [, drawn = '', after = ''] = demo.stdout.split(SCREEN_SWITCH);
    expect(drawn.startsWith(HIDE_CURSOR)).toBe(true);
    expect(drawn.endsWith(SHOW_CURSOR)).toBe(true);
    expect(after).toContain('allowed');
  });

  it('has colours', async () => {
    const demo = new DemoProcess({ DURATION: '1s' }, ON_TERMINAL);

    expect(await demo.ends()).toBe(0);
    expect(demo.stdout).toMatch(COLOUR);
  });

  it('has none with NO_COLOR', async () => {
    const demo = new DemoProcess({ NO_COLOR: '1', DURATION: '1s' }, ON_TERMINAL);

    expect(await demo.ends()).toBe(0);
    expect(demo.stdout).not.toMatch(COLOUR);
  });
});

describe('an invalid setting', () => {
  it.each([
    [{ PORT: 'http' }, 'PORT must be a whole number from 1 to 65535, or be left out for a free port, got "http"'],
    [{ PORT: '65536' }, 'PORT must be a whole number from 1 to 65535, or be left out for a free port, got "65536"'],
    [{ DURATION: 'long' }, 'DURATION must be a time such as "500ms", "20s" or "5m", at most a day, got "long"'],
    [{ REDIS_URL: 'localhost' }, 'REDIS_URL: a Redis URL looks like redis://'],
  ])('names what is wrong with %j', async (env: Readonly<Record<string, string>>, message) => {
    const demo = new DemoProcess(env);

    expect(await demo.ends()).toBe(1);
    expect(demo.stderr).toContain(message);
    expect(demo.stdout).toBe('');
  });

  it('reports a port in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const demo = new DemoProcess({ PORT: String(port) });

    expect(await demo.ends()).toBe(1);
    expect(demo.stderr).toBe(
      `PORT ${String(port)} of 127.0.0.1 is in use; give another PORT, or none for a free one\n`,
    );
    other.close();
  });
});
