import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { byIp, fixedWindow, memoryStore, rateLimit, type Store } from '@sluice/express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';
import { onError } from './on-error.ts';
import { listen, open, type Listening } from '@sluice/testkit';

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
const GET = 'GET / HTTP/1.1\r\nHost: test\r\n\r\n';

describe.each(frameworks)('on $version', ({ express }) => {
  let listening: Listening | undefined;
  afterEach(async () => {
    await listening?.close();
    listening = undefined;
  });

  it('a stream that began before the limiter goes on when it is allowed, and is cut off when it is refused', async () => {
    const app = express();
    app.use((_request, response, next) => {
      response.write('early ');
      next();
    });
    app.use(rateLimit({ policy }));
    app.get('/', (_request, response) => {
      response.end('and late');
    });
    listening = await listen(app);

    const answers = [await request(listening.server).get('/'), await request(listening.server).get('/').catch(String)];

    expect(answers[0]).toMatchObject({ status: 200, text: 'early and late' });
    expect(answers[1]).toMatch(/aborted|hang up|terminated/);
  });

  it.each([
    ['allowed', 1],
    ['refused', 2],
  ])('an answer that was sent while the store was asked is left as it is: %s', async (_outcome, cost) => {
    const { store, answer } = gatedStore();
    const events: unknown[] = [];
    const app = express();
    app.use((_request, response, next) => {
      next();
      response.status(503).send('too slow');
    });
    app.use(rateLimit({ policy, store, cost, timeoutMs: 60_000, onDenied: () => events.push('onDenied') }), () =>
      events.push('handled'),
    );
    app.use(onError((error) => events.push(error)));

    const sent = await request(app).get('/');
    await answer();

    expect(sent.status).toBe(503);
    expect(sent.text).toBe('too slow');
    expect(sent.headers).not.toHaveProperty('ratelimit');
    expect(events).toEqual([]);
  });

  it('a client that has gone before the decision has been counted', async () => {
    const { store, asked, answer } = gatedStore();
    const app = express();
    let handled = 0;
    app.use(rateLimit({ policy, store, timeoutMs: 60_000 }), (_request, response) => {
      handled++;
      response.end();
    });
    listening = await listen(app);
    const socket = await open(listening.port);
    socket.write(GET);
    await asked;
    socket.destroy();
    await answer();

    const second = await request(app).get('/');

    expect(second.status).toBe(429);
    expect(handled).toBe(1);
  });

  it('a client that has gone while skip was asked still has its address', async () => {
    const app = express();
    const keys: unknown[] = [];
    const decided = new Promise<void>((resolve) => {
      app.use(
        rateLimit({
          policy,
          key: byIp(),
          skip: async ({ socket }) => {
            if (!socket.destroyed) await once(socket, 'close');
            return false;
          },
          onDecision: (_decision, { key }) => {
            keys.push(key);
            resolve();
          },
        }),
      );
    });
    listening = await listen(app);
    const socket = await open(listening.port);
    const seen = once(listening.server, 'request');
    socket.write(GET);
    await seen;

    socket.destroy();
    await decided;

    expect(keys).toEqual(['127.0.0.1']);
  });

  it('a client that has gone while it is refused harms nobody', async () => {
    const { store, asked, answer } = gatedStore();
    const errors: unknown[] = [];
    const app = express();
    app.use(rateLimit({ policy, store, cost: 2, timeoutMs: 60_000 }));
    app.use(onError((error) => errors.push(error)));
    listening = await listen(app);
    const socket = await open(listening.port);
    socket.write(GET);
    await asked;
    socket.destroy();

    await answer();

    expect(errors).toEqual([]);
  });
});
