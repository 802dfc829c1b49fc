import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { fixedWindow } from '@sluice/core';
import { plainFramework, sending, type PlainRequest } from './plain-framework.ts';

const policy = fixedWindow({ limit: 5, window: '1h' });
const warnings: [code: string, message: string][] = [];
jest.spyOn(process, 'emitWarning').mockImplementation((message, options) => {
  warnings.push([(options as { code: string }).code, String(message)]);
});
beforeEach(() => {
  warnings.length = 0;
});

const forwarded = (peer: string | undefined, address: string, field: string): PlainRequest => ({
  address,
  socket: peer === undefined ? { destroyed: true } : { remoteAddress: peer, destroyed: false },
  headers: { 'x-forwarded-for': field },
});

/** Sends requests through an application that trusts these proxies; returns the codes of the warnings. */
async function warnedOf(requests: readonly PlainRequest[], trust?: unknown): Promise<string[]> {
  const send = sending({ policy }, { ...plainFramework, proxyTrust: () => trust });
  for (const request of requests) await send(request);
  return warnings.map(([code]) => code);
}

// A warning is given once in a process: what gives none comes first.
describe('the proxies that an application trusts', () => {
  it.each<[string, unknown]>([
    ['none', undefined],
    ['certain addresses', (address: string) => address === '10.0.0.1'],
    ['the first hop', (_address: string, hop: number) => hop === 0],
    [
      'a function that rejects unknown hops',
      () => {
        throw new Error('unknown hop');
      },
    ],
  ])('are no mistake: %s', async (_what, trust) => {
    expect(await warnedOf([{}, {}], trust)).toEqual([]);
  });

  it.each([
    [true, 'SLUICE_PROXY_TRUSTS_ALL'],
    [1, 'SLUICE_PROXY_HOP_COUNT'],
  ])('are warned of once if they are %p', async (trust, code) => {
    expect(await warnedOf([{}, {}], trust)).toEqual([code]);
  });
});

describe('a proxy that is not trusted', () => {
  it.each<[string, PlainRequest]>([
    ['its client has an address', forwarded('10.0.0.1', '203.0.113.7', '203.0.113.7')],
    ['it sends a request of its own', forwarded('127.0.0.1', '127.0.0.1', '127.0.0.1')],
    ['it sends one through another', forwarded('10.0.0.1', '10.0.0.1', '203.0.113.7, 10.0.0.1')],
    ['the peer has a public address', forwarded('203.0.113.1', '203.0.113.1', '203.0.113.7')],
    ['the peer has a public IPv6 address', forwarded('2001:db8::1', '2001:db8::1', '203.0.113.7')],
    ['the peer is next to a private range', forwarded('172.32.0.1', '172.32.0.1', '203.0.113.7')],
    ['the socket is gone', forwarded(undefined, '10.0.0.1', '203.0.113.7')],
  ])('is not warned of if %s', async (_why, request) => {
    expect(await warnedOf([request])).toEqual([]);
  });

  it('is looked for in the first 128 requests, and then in one of 64', async () => {
    let looked = 0;
    const header: typeof plainFramework.header = (request, name) => {
      if (name === 'x-forwarded-for') looked++;
      return plainFramework.header(request, name);
    };
    const send = sending({ policy }, { ...plainFramework, header });

    for (let i = 0; i < 128 + 640; i++) await send(forwarded('10.0.0.1', '203.0.113.7', '203.0.113.7'));

    expect(looked).toBe(128 + 10);
  });

  it('is looked for in the raw names, before Node makes an object of them', async () => {
    const request = forwarded('fd00::1', 'fd00::1', '203.0.113.7');

    expect(await warnedOf([{ ...request, rawHeaders: ['X-Forwarded-Fox', 'X-Forwarded-For'] }])).toEqual([]);
    expect(await warnedOf([{ ...request, rawHeaders: ['a', 'b', 'X-FORWARDED-For', '203.0.113.7'] }])).toEqual([
      'SLUICE_PROXY_NOT_TRUSTED',
    ]);
    expect(warnings[0]?.[1]).toContain('a request came from fd00::1 with X-Forwarded-For');
  });

  it('is warned of by its Unix socket, over which no client has an address', async () => {
    const framework = { ...plainFramework, address: () => undefined };
    const request = { headers: { 'x-forwarded-for': '203.0.113.7' }, socket: { destroyed: false } };

    await sending({ policy, key: () => 'k' }, framework)(request);

    expect(warnings).toEqual([['SLUICE_PROXY_NOT_TRUSTED', expect.stringContaining('over a Unix socket')]]);
  });
});

describe('a missing key', () => {
  const headers = { 'content-length': '12' };

  it('is warned of once for each limiter, with what to write, and the client is told nothing of that', async () => {
    const send = sending({ name: 'login', policy, key: () => undefined });
    const bodies = [(await send()).denial?.body, (await send()).denial?.body];

    expect(warnings).toEqual([
      [
        'SLUICE_KEY_MISSING',
        "the limiter login denies a request because its option key found nothing to count it by. If that is right, write onMissingKey: 'deny'; otherwise 'skip' or 'shared', or another key.",
      ],
    ]);
    expect(bodies.join()).not.toMatch(/onMissingKey|option|login/);
  });

  it('is warned of with the parser that is missing', async () => {
    await sending({ name: 'unparsed', policy, key: () => undefined })({ headers });

    expect(warnings[0]?.[1]).toContain('the request has no body yet: put the parser of the body before the limiter.');
  });

  it.each(['deny', 'skip', 'shared'])('is no mistake with onMissingKey: %j', async (onMissingKey) => {
    await sending({ name: `with-${onMissingKey}`, policy, key: () => undefined, onMissingKey })();

    expect(warnings).toEqual([]);
  });
});
