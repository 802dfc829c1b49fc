import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, type Store } from '@sluice/core';
import { cases } from '../depth.ts';
import { open } from '../raw-http.ts';
import { until } from '../until.ts';
import { gate, tally, type Gate } from './gate.ts';
import type { Suite } from './suite.ts';
import type { AnyRequest, Answer, Call, SuiteApp, SuiteOptions } from './target.ts';

const AT_ONCE = 100;
/** On each kind of store: half of them over HTTP/2, where the framework speaks it. */
const ABORTS = 2 * AT_ONCE * cases(5);
/** Usually half a minute; longer on a slow, busy machine, which must not lose a slot either. */
const LONGEST_MS = 600_000;
/** When a client disconnects: before the decision, while the handler runs, or during the response. */
const MOMENTS = ['undecided', 'handled', 'answered'] as const;

type Moment = (typeof MOMENTS)[number];

/** A request that will be cut off, and its two events. */
interface Cut {
  readonly moment: Moment;
  readonly seen: Gate;
  readonly left: Gate;
}

/** Many clients that disconnect at different moments: no slot is lost, and none is released twice. */
export function abortedSlots(suite: Suite): void {
  describe.each(suite.stores)('the slots of thousands of aborted requests, over $kind', (stores) => {
    it(
      'are all free again, of HTTP/1 and HTTP/2, and each was released once',
      async () => {
        const { store: inner, ...rest } = stores.fresh();
        const released = tally();
        const allowedCount = tally();
        const deniedCount = tally();
        const store: Store = {
          source: inner.source,
          perform(requests, call) {
            for (const { op } of requests) if (op === 'release') released.add();
            return inner.perform(requests, call);
          },
        };
        const limiter = createLimiter({
          name: 'cut',
          policy: concurrency({ limit: AT_ONCE, ttl: '1h' }),
          store,
          ...rest,
        });
        const cuts = new Map<string, Cut>();
        const cutOf = ({ headers }: AnyRequest): Cut | undefined => cuts.get(String(headers['x-id']));
        const limit: SuiteOptions = {
          limiter,
          key: () => 'all',
          skip: async (request) => {
            const cut = cutOf(request);
            if (cut?.moment === 'undecided') {
              cut.seen.open();
              await cut.left.opened;
            }
            return false;
          },
          onDecision: ({ allowed }) => {
            (allowed ? allowedCount : deniedCount).add();
          },
        };
        const handle = async (call: Call): Promise<Answer> => {
          const cut = cutOf(call);
          if (cut?.moment === 'handled') {
            cut.seen.open();
            await cut.left.opened;
          }
          if (cut?.moment !== 'answered') return { body: 'hello' };
          const stream = new PassThrough();
          stream.write('first');
          return { stream };
        };
        const app: SuiteApp = { routes: [{ method: 'GET', path: '/items', limit, handle }] };

        let ids = 0;
        const cutAll = async (cutSome: (fates: readonly [string, Cut][]) => Promise<unknown>): Promise<void> => {
          const count = suite.target.startHttp2 === undefined ? ABORTS : ABORTS / 2;
          for (let done = 0; done < count; done += AT_ONCE) {
            const fates = Array.from({ length: AT_ONCE }, (_, i): [string, Cut] => {
              const cut = { moment: MOMENTS[i % 3] as Moment, seen: gate(), left: gate() };
              return [String(ids++), cut];
            });
            for (const [id, cut] of fates) cuts.set(id, cut);
            await cutSome(fates);
            for (const [, { left }] of fates) left.open();
            await until('the slots are free', async () => {
              const { remaining, limit, resetAfterMs } = await limiter.peek('all');
              return remaining === limit && resetAfterMs === 0 && allowedCount.count === ids * 2;
            });
            cuts.clear();
          }
        };

        const http1 = await suite.start(app);
        await cutAll(async (fates) =>
          Promise.all(fates.map(async ([id, cut], i) => cutHttp1(http1.port, id, cut, i % 2 === 0))),
        );
        const http2 = await suite.target.startHttp2?.(app);
        if (http2 !== undefined) {
          try {
            await cutAll((fates) => cutHttp2(http2.port, fates));
          } finally {
            await http2.close();
          }
        }

        expect(ids).toBe(ABORTS);
        expect(allowedCount.count).toBe(ids * 2);
        expect(deniedCount.count).toBe(0);
        expect(released.count).toBe(allowedCount.count);
      },
      LONGEST_MS,
    );
  });
}

/** Sends a request that completes and, on the same connection, one that is cut off. */
async function cutHttp1(port: number, id: string, { moment, seen }: Cut, resets: boolean): Promise<void> {
  const socket = await open(port);
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  socket.write('GET /items HTTP/1.1\r\nHost: test\r\n\r\n');
  await once(socket, 'data');
  socket.write(`GET /items HTTP/1.1\r\nHost: test\r\nX-Id: ${id}\r\n\r\n`);
  await (moment === 'answered' ? once(socket, 'data') : seen.opened);
  if (resets) socket.resetAndDestroy();
  else socket.destroy();
  await closed;
}

/** The same with streams, all of one session. */
async function cutHttp2(port: number, fates: readonly (readonly [string, Cut])[]): Promise<void> {
  const session = connectHttp2(`http://127.0.0.1:${String(port)}`);
  await Promise.all(
    fates.map(async ([id, { moment, seen }], i) => {
      const whole = session.request({ ':path': '/items' });
      whole.resume();
      await once(whole, 'close');
      const stream = session.request({ ':path': '/items', 'x-id': id });
      stream.on('error', () => undefined);
      const closed = once(stream, 'close');
      await (moment === 'answered' ? once(stream, 'data') : seen.opened);
      if (i % 10 === 9) return; // with the session
      stream.close(constants.NGHTTP2_CANCEL);
      await closed;
    }),
  );
  session.destroy();
}
