import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import sluice, { fixedWindow } from '@sluice/fastify';
import fastify, { type FastifyInstance } from 'fastify';
import { peer } from '../fastify-peer.ts';
import { get } from '../get.ts';

async function statusesOf(app: FastifyInstance, paths: readonly string[]): Promise<readonly (number | undefined)[]> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const statuses: (number | undefined)[] = [];
  for (const path of paths) statuses.push((await get(port, path, {})).status);
  await app.close();
  return statuses;
}

/** The guide docs/guides/side-by-side.md, run. */
describe('@fastify/rate-limit and @sluice/fastify in one application', () => {
  it('limit routes of their own, each in a scope', async () => {
    const app = fastify();
    await app.register(async (old) => {
      await old.register(peer, { max: 1 });
      old.get('/old', () => 'good');
    });
    await app.register(async (moved) => {
      await moved.register(sluice, { policy: fixedWindow({ limit: 1, window: '1m' }) });
      moved.get('/moved', () => 'good');
    });

    expect(await statusesOf(app, ['/old', '/old', '/moved', '/moved'])).toEqual([200, 429, 200, 429]);
  });

  it('are compared on the same requests: Sluice reports, and the peer decides', async () => {
    const decided: boolean[] = [];
    const app = fastify();
    await app.register(sluice, {
      policy: fixedWindow({ limit: 1, window: '1m' }),
      mode: 'report',
      headers: false,
      onDecision: ({ allowed }) => void decided.push(allowed),
    });
    await app.register(peer, { max: 2 });
    app.get('/', () => 'good');

    expect(await statusesOf(app, ['/', '/', '/'])).toEqual([200, 200, 429]);
    expect(decided).toEqual([true, false, false]);
  });
});
