import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect as connectHttp2, constants } from 'node:http2';
import { expect } from 'expect';
import type { AppDescription, HandlerDescription, LimitDescription } from '../adapter-target/descriptions.ts';
import { concurrency, held, later, onDecision, recorded, returns, when } from './described.ts';
import type { DrivenApp } from './driver.ts';
import { describe, it } from './scenario.ts';
import { open } from '../raw-http.ts';
import { until } from '../until.ts';
import { idOf, type Suite } from './suite.ts';

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
}

/** Many clients that disconnect at different moments: no slot is lost, and none is released twice. */
export function abortedSlots(suite: Suite): void {
  // On each kind of store: half of them over HTTP/2, where the framework speaks it.
  const aborts = 2 * AT_ONCE * suite.cases(5);

  describe.each(suite.stores)('the slots of thousands of aborted requests, over $kind', (stores) => {
    it(
      'are all free again, of HTTP/1 and HTTP/2, and each was released once',
      async () => {
        const exactly = stores.fresh(undefined, { watched: true });
        const policy = concurrency({ limit: AT_ONCE, ttl: '1h' });
        const limiter = await suite.limiter({ name: 'cut', policy, ...exactly });
        const undecided = recorded('seen {x-id}', held('left {x-id}', false));
        const limit: LimitDescription = {
          limiter: limiter.described,
          key: returns('all'),
          skip: later(when('x-moment', 'undecided', undecided, false)),
          onDecision: onDecision(),
        };
        const handle: HandlerDescription = {
          body: 'hello',
          cases: [
            { header: 'x-moment', is: 'handled', record: 'seen {x-id}', hold: 'left {x-id}' },
            { header: 'x-moment', is: 'answered', stream: { first: 'first', last: '' } },
          ],
        };
        const described: AppDescription = { routes: [{ method: 'GET', path: '/items', limit, handle }] };
        const apps: DrivenApp[] = [];
        const decided = async (): Promise<number> => {
          const counts = await Promise.all(apps.map(({ decisions }) => decisions.count()));
          return counts.reduce((sum, count) => sum + count, 0);
        };

        const kinds = suite.target.http2 === true ? [false, true] : [false];
        let ids = 0;
        const cutAll = async (cutSome: (fates: readonly Cut[]) => Promise<unknown>): Promise<void> => {
          for (let done = 0; done < aborts / kinds.length; done += AT_ONCE) {
            const fates = Array.from({ length: AT_ONCE }, (_, i): Cut => ({
              id: String(ids++),
              moment: MOMENTS[i % 3] as Moment,
            }));
            await cutSome(fates);
            await suite.driver.opens(...fates.map(({ id }) => `left ${id}`));
            await until('the slots are free', async () => {
              const { remaining, limit, resetAfterMs } = await limiter.peek('all');
              return remaining === limit && resetAfterMs === 0 && (await decided()) === ids * 2;
            });
          }
        };

        for (const http2 of kinds) {
          const app = await suite.start(described, { http2 });
          apps.push(app);
          await cutAll(async (fates) =>
            http2 ? cutHttp2(app, fates) : Promise.all(fates.map(async (fate, i) => cutHttp1(app, fate, i % 2 === 0))),
          );
        }
        const decisions = (await Promise.all(apps.map((app) => app.decisions.all()))).flat();
        const allowedCount = decisions.filter(({ allowed }) => allowed).length;

        expect(ids).toBe(aborts);
        expect(allowedCount).toBe(ids * 2);
        expect(decisions).toHaveLength(allowedCount);
        expect(await suite.driver.list(idOf(exactly.store), 'release').count()).toBe(allowedCount);
      },
      LONGEST_MS,
    );
  });
}

/** Sends a request that completes and, on the same connection, one that is cut off. */
async function cutHttp1(app: DrivenApp, { id, moment }: Cut, resets: boolean): Promise<void> {
  const socket = await open(app.port);
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  socket.write('GET /items HTTP/1.1\r\nHost: test\r\n\r\n');
  await wholeAnswer(socket);
  socket.write(`GET /items HTTP/1.1\r\nHost: test\r\nX-Id: ${id}\r\nX-Moment: ${moment}\r\n\r\n`);
  await (moment === 'answered' ? once(socket, 'data') : app.list(`seen ${id}`).reaches(1));
  if (resets) socket.resetAndDestroy();
  else socket.destroy();
  await closed;
}

/** Reads until a response has ended, by its length or by the last of its chunks: not all servers accept a request before. */
async function wholeAnswer(socket: Socket): Promise<void> {
  let text = '';
  while (!(text.endsWith('\r\n\r\nhello') || text.endsWith('\r\n0\r\n\r\n'))) {
    const [piece] = (await once(socket, 'data')) as [Buffer];
    text += piece.toString();
  }
}

/** The same with streams, all of one session. */
async function cutHttp2(app: DrivenApp, fates: readonly Cut[]): Promise<void> {
  const session = connectHttp2(`http://127.0.0.1:${String(app.port)}`);
  await Promise.all(
    fates.map(async ({ id, moment }, i) => {
      const whole = session.request({ ':path': '/items' });
      whole.resume();
      await once(whole, 'close');
      const stream = session.request({ ':path': '/items', 'x-id': id, 'x-moment': moment });
      stream.on('error', () => undefined);
      const closed = once(stream, 'close');
      await (moment === 'answered' ? once(stream, 'data') : app.list(`seen ${id}`).reaches(1));
      if (i % 10 === 9) return; // with the session
      stream.close(constants.NGHTTP2_CANCEL);
      await closed;
    }),
  );
  session.destroy();
}
