import { afterEach, describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, rateLimit, type Store } from '@sluice/express';
import { listen, type Listening } from '@sluice/testkit';
import request from 'supertest';
import { frameworks } from './frameworks.ts';
import { onError } from './on-error.ts';

/** A store that answers when it is told to. */
function gatedStore(): { store: Store; answer: () => Promise<void> } {
  const inner = memoryStore();
  let letGo = (): void => {};
  const gate = new Promise<void>((resolve) => (letGo = resolve));
  return {
    store: {
      source: 'redis',
      async perform(requests) {
        const answers = inner.perform(requests);
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

describe.each(frameworks)('on $version', ({ express }) => {
  let listening: Listening | undefined;
  afterEach(async () => {
    await listening?.close();
    listening = undefined;
  });

  it('a stream that began before the limiter goes on when it is allowed, and is cut off when it is denied', async () => {
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
    ['denied', 2],
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
});
