import { describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, rateLimit, type Store } from '@sluice/koa';
import { open } from '@sluice/testkit';
import type { Middleware } from 'koa';
import { frameworks } from './frameworks.ts';
import { useServers } from './serve.ts';

/** A store that answers when it is told to. */
function gatedStore(): { store: Store; asked: Promise<void>; answer: () => Promise<void> } {
  const inner = memoryStore();
  let wasAsked = (): void => {};
  let letGo = (): void => {};
  const asked = new Promise<void>((resolve) => (wasAsked = resolve));
  const gate = new Promise<void>((resolve) => (letGo = resolve));
  return {
    asked,
    store: {
      source: 'redis',
      async perform(requests) {
        const answers = inner.perform(requests);
        wasAsked();
        await gate;
        return answers;
      },
    },
    async answer() {
      letGo();
      // What follows from it is done when the queue has been emptied.
      await new Promise(setImmediate);
      await new Promise(setImmediate);
    },
  };
}

const policy = fixedWindow({ limit: 1, window: '1h' });

describe.each(frameworks)('on $version', ({ Koa }) => {
  const serve = useServers();

  it('a stream that began before the limiter goes on when it is allowed; a denial is an error to the middleware that began it', async () => {
    const caught: unknown[] = [];
    const app = new Koa();
    app.use(async (ctx, next) => {
      ctx.respond = false;
      ctx.res.write('early ');
      try {
        await next();
      } catch (error) {
        caught.push(error);
      }
      ctx.res.end('late');
    });
    app.use(rateLimit({ policy }));
    app.use((ctx) => {
      ctx.res.write('handled ');
    });
    const { ask } = await serve(app);

    const answers = [await ask(), await ask()];

    expect(answers.map(({ text }) => text)).toEqual(['early handled late', 'early late']);
    expect(caught).toEqual([expect.objectContaining({ code: 'SLUICE_DENIED', status: 429 })]);
  });

  it.each([
    ['allowed', 1],
    ['denied', 2],
  ])('an answer that was sent while the store was asked is left as it is: %s', async (_outcome, cost) => {
    const { store, asked, answer } = gatedStore();
    const events: unknown[] = [];
    const app = new Koa();
    app.use(async (ctx, next) => {
      next().catch((error: unknown) => events.push(error));
      await asked;
      ctx.status = 503;
      ctx.body = 'too slow';
    });
    app.use(rateLimit({ policy, store, cost, timeoutMs: 60_000, onDenied: () => events.push('onDenied') }));
    app.use(() => {
      events.push('handled');
    });
    const { ask } = await serve(app);

    const { status, headers, text } = await ask();
    await answer();

    expect([status, text]).toEqual([503, 'too slow']);
    expect(headers.has('ratelimit')).toBe(false);
    expect(events).toEqual([]);
  });

  it.each([
    ['allowed', 1],
    ['denied', 2],
  ])('nothing is done for a client that has gone while the store was asked: %s', async (_outcome, cost) => {
    const { store, asked, answer } = gatedStore();
    const events: unknown[] = [];
    const note: Middleware = () => {
      events.push('handled');
    };
    const app = new Koa();
    app.on('error', (error) => events.push(error));
    app.use(rateLimit({ policy, store, cost, timeoutMs: 60_000 }));
    app.use(note);
    const { port, server } = await serve(app);
    const gone = new Promise<void>((resolve) => {
      server.on('connection', (connection) =>
        connection.on('close', () => {
          resolve();
        }),
      );
    });
    const socket = await open(port);
    socket.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n');
    await asked;
    socket.destroy();
    await gone;

    await answer();

    expect(events).toEqual([]);
  });
});
