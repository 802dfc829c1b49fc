import { once } from 'node:events';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { connect as connectHttp2, constants } from 'node:http2';
import { expect } from '@jest/globals';
import { concurrency, createLimiter, type Decision } from '@sluice/old-core';
import { cases } from '../depth.ts';
import { until } from '../until.ts';
import { begin } from './connections.ts';
import { header, type AnyRequest, type Handle, type Limit } from './adapter.ts';
import { gate, type Gate } from './gate.ts';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import type { Suite } from './suite.ts';
import { watched } from './watched-store.ts';

const AT_ONCE = 100;
/** Usually half a minute; longer on a slow, busy machine, which must not lose a slot either. */
const LONGEST_MS = 600_000;
/** When a client disconnects: before the decision, while the handler runs, or during the response. */
const MOMENTS = ['undecided', 'handled', 'answered'] as const;

type Moment = (typeof MOMENTS)[number];

/** A request that will be cut off. */
interface Cut {
  readonly id: string;
  readonly moment: Moment;
  readonly seen: Gate;
  readonly left: Gate;
}

/** Many clients that disconnect at different moments: no slot is lost, and none is released twice. */
export function abortedSlots(suite: Suite): void {
  // On each kind of store: half of them over HTTP/2, where the framework speaks it.
  const aborts = 2 * AT_ONCE * cases(5);

  describe.each(suite.stores)('the slots of thousands of aborted requests, over $kind', (stores) => {
    it(
      'are all free again, of HTTP/1 and HTTP/2, and each was released once',
      async () => {
        const [exactly, decisions] = [watched(stores.fresh()), new Log<Decision>()];
        const policy = concurrency({ limit: AT_ONCE, ttl: '1h' });
        const limiter = createLimiter({ name: 'cut', policy, ...exactly });
        let cuts: readonly Cut[] = [];
        const cutOf = (request: AnyRequest): Cut | undefined => cuts.find(({ id }) => id === header(request, 'x-id'));
        const waitIf = async (moment: Moment, cut: Cut | undefined): Promise<void> => {
          if (cut?.moment !== moment) return;
          cut.seen.open();
          await cut.left.opened;
        };
        const limit: Limit = {
          limiter,
          key: () => 'all',
          async skip(request) {
            await waitIf('undecided', cutOf(request));
            return false;
          },
          onDecision: decisions.add,
        };
        const handle: Handle = async (call) => {
          const cut = cutOf(call);
          await waitIf('handled', cut);
          if (cut?.moment !== 'answered') return { body: 'hello' };
          const stream = new PassThrough();
          stream.write('first');
          return { stream };
        };

        const kinds = suite.adapter.startHttp2 === undefined ? [false] : [false, true];
        let ids = 0;
        for (const http2 of kinds) {
          const { port } = await suite.serve(limit, { handle, http2 });
          for (let done = 0; done < aborts / kinds.length; done += AT_ONCE) {
            cuts = Array.from({ length: AT_ONCE }, (_, i): Cut => ({
              id: String(ids++),
              moment: MOMENTS[i % 3] as Moment,
              seen: gate(),
              left: gate(),
            }));
            if (http2) await cutHttp2(port, cuts);
            else await Promise.all(cuts.map(async (cut, i) => cutHttp1(port, cut, i % 2 === 0)));
            for (const { left } of cuts) left.open();
            await until('the slots are free', async () => {
              const { remaining, limit: all, resetAfterMs } = await limiter.peek('all');
              return remaining === all && resetAfterMs === 0 && decisions.count === ids * 2;
            });
          }
        }
        const allowedCount = decisions.all.filter(({ allowed }) => allowed).length;

        expect(ids).toBe(aborts);
        expect(allowedCount).toBe(ids * 2);
        expect(decisions.count).toBe(allowedCount);
        expect(exactly.store.answered('release').count).toBe(allowedCount);
      },
      LONGEST_MS,
    );
  });
}

/** Sends a request that completes and, on the same connection, one that is cut off. */
async function cutHttp1(port: number, { id, moment, seen }: Cut, resets: boolean): Promise<void> {
  const socket = await begin(port);
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  await wholeAnswer(socket);
  socket.write(`GET /items HTTP/1.1\r\nHost: test\r\nX-Id: ${id}\r\n\r\n`);
  await (moment === 'answered' ? once(socket, 'data') : seen.opened);
  if (resets) socket.resetAndDestroy();
  else socket.destroy();
  await closed;
}

/**
 * Reads until a response has ended, by its length or by the last of its chunks: not all servers accept a request
 * before.
 */
async function wholeAnswer(socket: Socket): Promise<void> {
  let text = '';
  while (!(text.endsWith('\r\n\r\nhello') || text.endsWith('\r\n0\r\n\r\n'))) {
    const [piece] = (await once(socket, 'data')) as [Buffer];
    text += piece.toString();
  }
}

/** The same with streams, all of one session. */
async function cutHttp2(port: number, cuts: readonly Cut[]): Promise<void> {
  const session = connectHttp2(`http://127.0.0.1:${String(port)}`);
  await Promise.all(
    cuts.map(async ({ id, moment, seen }, i) => {
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
