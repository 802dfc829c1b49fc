import { describe, expect, it } from '@jest/globals';
import { fixedWindow, rateLimit } from '@sluice/koa';
import type { Middleware } from 'koa';
import { frameworks } from './frameworks.ts';
import { useServers, type Served } from './serve.ts';
import { mount, peer } from './untyped.ts';

const ours = (limit: number): Middleware => rateLimit({ policy: fixedWindow({ limit, window: '1h' }) });
const theirs = (max: number): Middleware => peer({ driver: 'memory', db: new Map(), max, duration: 3_600_000 });
const respond: Middleware = (ctx) => {
  ctx.body = 'good';
};

async function statusesOf({ ask }: Served, paths: readonly string[]): Promise<number[]> {
  const statuses = [];
  for (const path of paths) statuses.push((await ask(path)).status);
  return statuses;
}

describe.each(frameworks)('koa-ratelimit and Sluice in one application of $version', ({ Koa }) => {
  const serve = useServers();

  it('limit routes of their own, until the last one has moved', async () => {
    const app = new Koa();
    app.use(mount('/old', theirs(1)));
    app.use(mount('/new', ours(2)));
    app.use(respond);

    const statuses = await statusesOf(await serve(app), ['/old', '/new', '/old', '/new', '/old', '/new']);

    expect(statuses).toEqual([200, 200, 429, 200, 429, 429]);
  });

  it.each([
    ['koa-ratelimit', 'Sluice', [theirs, ours]],
    ['Sluice', 'koa-ratelimit', [ours, theirs]],
  ] as const)('count the same requests alone: %s before %s', async (_first, _second, [before, after]) => {
    const app = new Koa();
    const passed: string[] = [];
    app.use(before(3));
    app.use(async (ctx, next) => {
      passed.push(ctx.path);
      await next();
    });
    app.use(after(2));
    app.use(respond);

    const statuses = await statusesOf(await serve(app), ['/1', '/2', '/3', '/4', '/5']);

    // The third is denied by the one behind, which has counted two; those after it by the one before, which has counted three.
    expect(statuses).toEqual([200, 200, 429, 429, 429]);
    expect(passed).toEqual(['/1', '/2', '/3']);
  });

  it('write header fields of their own', async () => {
    const app = new Koa();
    app.use(theirs(3));
    app.use(ours(2));
    app.use(respond);
    const { ask } = await serve(app);

    const { headers } = await ask();

    expect(headers.get('x-ratelimit-remaining')).toBe('2');
    expect(headers.get('ratelimit')).toMatch(/^"default";r=1;/);
  });
});
