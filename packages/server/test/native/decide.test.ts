import { afterAll, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, remoteStore, type RemoteStore, type RemoteStoreOptions } from '@sluice/core';
import { describeStore } from '@sluice/core/testing';
import { expectWarnings, useClosing, useRedis } from '@sluice/testkit';
import type { ServerOptions } from '../../src/index.ts';
import { serve, type Served } from '../serve.ts';

expectWarnings('SLUICE_STORE_AWAY');

const TOKEN = 'a token of sixteen'.replaceAll(' ', '-');
const LIMITS = 'limits: { login: { fixedWindow: { limit: 2, window: 1h } } }\n';
const redis = useRedis();
const closing = useClosing();
const start = async (options?: Partial<ServerOptions>): Promise<Served> => closing(await serve(LIMITS, options));
const urlOf = ({ port }: Served): string => `http://127.0.0.1:${String(port('http'))}`;
const storeAt = (url: string, options?: RemoteStoreOptions): RemoteStore => closing(remoteStore(url, options));

const strict = { onStoreError: 'throw', timeoutMs: 10_000 } as const;
const limit = fixedWindow({ limit: 5, window: '1h' });

describe('a remoteStore', () => {
  it.each<[string, () => Partial<ServerOptions>]>([
    ['in the memory of the service', () => ({})],
    ['in its Redis', () => ({ redis: redis.server.url, prefix: 'decide' })],
  ])('counts together with those of other processes, %s', async (_where, options) => {
    const url = urlOf(await start(options()));
    const limiters = [storeAt(url), storeAt(url)].map((store) =>
      createLimiter({ name: 'shared', policy: limit, store, ...strict }),
    );

    const decisions = await Promise.all(
      limiters.flatMap((limiter) => Array.from({ length: 10 }, () => limiter.consume('ann'))),
    );

    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['remote']));
  });

  it.each([
    ['without', {}],
    ['with another', { token: 'another-token-of-more' }],
  ])('%s token is rejected by a listener that others can reach', async (_which, options) => {
    const reached = urlOf(await start({ http: '0.0.0.0:0', token: TOKEN }));
    const limiter = createLimiter({ policy: limit, store: storeAt(reached, options), ...strict });
    const trusted = createLimiter({ name: 'b', policy: limit, store: storeAt(reached, { token: TOKEN }), ...strict });

    await expect(limiter.consume('ann')).rejects.toMatchObject({ kind: 'denied' });
    expect((await trusted.consume('ann')).allowed).toBe(true);
  });
});

describe('POST /v1/decide', () => {
  const ask = ['{ann}:x', 0, 1, 0, 0];
  const body = { policies: [limit], requests: [{ op: 'take', asks: [ask] }] };

  it.each([
    ['no policies', { ...body, policies: [] }],
    ['a bad policy', { ...body, policies: [{ algorithm: 'fixedWindow', limit: -1 }] }],
    ['an unknown operation', { ...body, requests: [{ op: 'flush', asks: [ask] }] }],
    ['a key twice', { ...body, requests: [{ op: 'take', asks: [ask, ask] }] }],
    ['a key of another form', { ...body, requests: [{ op: 'take', asks: [['ann', 0, 1]] }] }],
    ['a key of the space of others', { ...body, requests: [{ op: 'take', asks: [['{a}b{c}:x', 0, 1]] }] }],
    ['a policy that is not there', { ...body, requests: [{ op: 'take', asks: [['{ann}:x', 1, 1]] }] }],
    ['a cost that is no whole number', { ...body, requests: [{ op: 'take', asks: [['{ann}:x', 0, 1.5]] }] }],
    ['a block without an end', { ...body, requests: [{ op: 'block', asks: [['{ann}:x', 0, 0, 0, 2 ** 53 - 1]] }] }],
    ['no object', 5],
  ])('rejects %s with 400, and does nothing', async (_what, given) => {
    const { post } = await start();

    expect(await post('decide', given)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('nothing was done') as unknown },
    });
  });
});

const behind = await serve(LIMITS, { timeoutMs: 10_000 });
afterAll(() => behind.close());
describeStore('behind the service', () => remoteStore(urlOf(behind)));
