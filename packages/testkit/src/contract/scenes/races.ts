import { once } from 'node:events';
import type { ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { expect } from '@jest/globals';
import { fixedWindow, type Decision } from '@sluice/core';
import { exchange, open, received, statuses } from '../../raw-http.ts';
import { makeBytes, isPing, pings, openSession, stream, visit, waiting, type Visit } from '../connections.ts';
import { Log } from '../log.ts';
import { BOTH, WAYS, exactly, scene, type Scene } from '../stage.ts';

const policy = fixedWindow({ limit: 5, window: '1d' });
const last = makeBytes('Connection: close');
const count = (all: readonly number[], status: number): number => all.filter((one) => one === status).length;

async function statusOf(asked: ClientHttp2Stream): Promise<number> {
  const [headers] = (await once(asked, 'response')) as [{ ':status': number }];
  asked.resume();
  await once(asked, 'close');
  return headers[':status'];
}

/** Many requests at once: exactly the limit is allowed, and counted requests stay counted. */
export const races: readonly Scene[] = [
  scene('exactly 5 of 8 requests that are pipelined on one connection are allowed (B13)', BOTH, async (stage) => {
    const server = await stage.serve({ policy });

    const text = await exchange(server.port, makeBytes().repeat(7) + last);

    expect(statuses(text)).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    expect(server.calls.count).toBe(5);
  }),
  scene(
    'exactly 5 of 100 whose last bytes reach two servers together pass (B13)',
    [...BOTH, 'over Redis'],
    async (stage) => {
      const options = { policy, ...exactly(stage.store()), shared: true, skip: isPing };
      const servers = [await stage.serve(options), await stage.serve(options)];
      const sockets: Socket[] = [];
      for (let i = 0; i < 100; i++) sockets.push(await open(servers[i % 2]?.port ?? 0));
      const answers = sockets.map(received);
      for (const socket of sockets) socket.write(last.slice(0, -1));
      // Connections are accepted in order: when a later one has its response, all of them wait for their last byte.
      for (const server of servers) await pings(server, 1);

      for (const socket of sockets) socket.write('\n');
      const outcomes = (await Promise.all(answers)).flatMap(statuses);

      expect([count(outcomes, 200), count(outcomes, 429)]).toEqual([5, 95]);
      expect(servers.flatMap(({ calls }) => calls.all)).toHaveLength(5);
    },
  ),
  scene(
    'exactly 5 of 30 streams of HTTP/2 that end in one packet are allowed (B13)',
    ['over HTTP/2'],
    async (stage) => {
      const server = await stage.serve({ policy }, { method: 'POST' });
      const session = await openSession(stage, server);
      const streams = Array.from({ length: 30 }, () => stream(session, { ':method': 'POST' }));
      const answers = streams.map(statusOf);

      for (const one of streams) one.end('{}');
      const outcomes = await Promise.all(answers);

      expect([count(outcomes, 200), count(outcomes, 429)]).toEqual([5, 25]);
      expect(server.calls.count).toBe(5);
    },
  ),
  scene('clients that leave before their answer stay counted, and none escapes (B14)', WAYS, async (stage) => {
    const decisions = new Log<Decision>();
    const { handle, open: answer } = waiting();
    const server = await stage.serve({ policy, onDecision: decisions.add }, { handle });
    const visits: Visit[] = [];
    for (let i = 0; i < 5; i++) visits.push(await visit(stage, server));
    await decisions.reaches(5);
    for (const one of visits) await one.leave();
    for (let i = 0; i < 20; i++) await (await visit(stage, server)).leave();

    await (await visit(stage, server)).answered();
    answer();

    expect(decisions.all.filter(({ allowed }) => allowed)).toHaveLength(5);
    expect(decisions.all.at(-1)?.outcome).toBe('denied');
    expect(server.calls.count).toBe(5);
  }),
];
