import { expect } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import { byIp } from '@sluice/old-http';
import fc from 'fast-check';
import { cases } from '../depth.ts';
import { testSeed } from '../random.ts';
import type { Limit } from './adapter.ts';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Server, type Suite } from './suite.ts';

const policy = fixedWindow({ limit: 3, window: '1h' });

/** A client behind the proxy that the application trusts. */
const from = (address: string): { headers: Record<string, string> } => ({ headers: { 'X-Forwarded-For': address } });

/** Addresses of the internet: those of the machine itself are proxies here. */
const ipv4 = fc
  .tuple(fc.integer({ min: 1, max: 126 }), fc.nat(255), fc.nat(255), fc.nat(255))
  .map(([a, b, c, d]) => ({ a, b, c, d, text: [a, b, c, d].join('.') }));
const ipv6 = fc
  .tuple(
    fc.integer({ min: 0x2000, max: 0x3fff }),
    fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 7, maxLength: 7 }),
  )
  .map(([first, rest]) => [first, ...rest]);

const hex = (...octets: readonly [number, number]): string => (octets[0] * 256 + octets[1]).toString(16);

/** Spellings of one IPv4 address. */
export const ipv4Spellings: fc.Arbitrary<string[]> = ipv4.map(({ a, b, c, d, text }) => [
  text,
  `::ffff:${text}`,
  `::FFFF:${text}`,
  `::ffff:${hex(a, b)}:${hex(c, d)}`,
  `0:0:0:0:0:ffff:${hex(a, b)}:${hex(c, d)}`,
  `0000:0000:0000:0000:0000:FFFF:${text}`,
  `64:ff9b::${text}`,
  `64:ff9b::${hex(a, b)}:${hex(c, d)}`,
  `${text}:4711`,
  `[::ffff:${text}]:4711`,
]);
/** Spellings of one IPv6 address. */
export const ipv6Spellings: fc.Arbitrary<string[]> = ipv6.map((groups) => {
  const plain = groups.map((group) => group.toString(16)).join(':');
  const compressed = new URL(`http://[${plain}]`).hostname.slice(1, -1);
  return [
    plain,
    compressed,
    plain.toUpperCase(),
    groups.map((group) => group.toString(16).padStart(4, '0')).join(':'),
    `[${compressed}]`,
    `[${plain}]:4711`,
    `${compressed}%eth0`,
  ];
});

/** One budget per client, in every spelling of its address and with every forged header. */
export function addresses(suite: Suite): void {
  describe.each(PLACES)('a limit per address, %s', (place) => {
    const limited = async (trustLoopback: boolean): Promise<Server & { readonly keys: Log }> => {
      const keys = new Log();
      const onDecision: Limit['onDecision'] = (_decision, { key }) => {
        keys.add(key);
      };
      const server = await suite.serve({ name: 'address', policy, key: byIp(), onDecision }, { place, trustLoopback });
      return { ...server, keys };
    };

    it('ignores headers of senders that are not trusted (B6)', async () => {
      const server = await limited(false);
      const spoofed: Record<string, string | readonly string[]>[] = [
        ...['X-Forwarded-For', 'X-Real-IP', 'CF-Connecting-IP', 'True-Client-IP', 'X-Client-IP', 'X-Cluster-Client-IP'],
        ...['Fastly-Client-IP', 'X-Forwarded', 'Forwarded-For', 'Client-IP', 'Via'],
      ].map((name, i) => ({ [name]: `203.0.113.${String(i)}` }));
      spoofed.push(
        { Forwarded: 'for=203.0.113.50;proto=https' },
        { 'X-Forwarded-For': ['203.0.113.51', '203.0.113.52'] },
        { 'X-Forwarded-For': '203.0.113.53:4711, 127.0.0.1' },
        { 'X-Forwarded-For': '127.0.0.1' },
        { 'X-Forwarded-For': 'unknown, , _hidden' },
        { 'X-Forwarded-For': '2001:db8::1', 'X-Forwarded-Host': 'other', 'X-Forwarded-Proto': 'https' },
      );

      const statuses = [];
      for (const headers of spoofed) statuses.push((await server.send({ headers })).status);

      expect(statuses).toEqual(spoofed.map((_headers, i) => (i < 3 ? 200 : 429)));
      expect(new Set(server.keys.all)).toEqual(new Set(['127.0.0.1']));
    });

    it('distinguishes clients behind a trusted proxy', async () => {
      const server = await limited(true);
      await server.statuses(3, from('203.0.113.1'));

      const statuses = [
        (await server.send(from('203.0.113.1'))).status,
        (await server.send(from('203.0.113.2'))).status,
        (await server.send(from('6.6.6.6, 203.0.113.1'))).status,
      ];

      expect(statuses).toEqual([429, 200, 429]);
    });

    it('counts all addresses of a /64 as one client, and two /64 as two (B5)', async () => {
      const server = await limited(true);

      for (let i = 0; i < 256; i++) {
        await server.send(from(`2001:db8:1:2:${(i * 257).toString(16)}:${i.toString(16)}::1`));
      }
      const other = await server.send(from('2001:db8:1:3::1'));

      expect(server.calls.count).toBe(4);
      expect(other.status).toBe(200);
      expect(new Set(server.keys.all)).toEqual(new Set(['2001:db8:1:2::/64', '2001:db8:1:3::/64']));
    });
  });

  it.each([
    ['IPv4', ipv4Spellings],
    ['IPv6', ipv6Spellings],
  ])('any two spellings of an %s address are one client (B7)', async (_family, spellingsOfOne) => {
    const keys = new Log();
    const server = await suite.serve(
      {
        name: 'spelt-addresses',
        limit: 1_000_000,
        window: '1h',
        key: byIp({ ipv6Prefix: 128 }),
        onDecision: (_decision, { key }) => {
          keys.add(key);
        },
      },
      { trustLoopback: true },
    );

    await fc.assert(
      fc.asyncProperty(spellingsOfOne, async (spelt) => {
        const before = keys.count;

        for (const text of spelt) await server.send(from(text));

        const added = keys.all.slice(before);
        expect(added).toEqual(spelt.map(() => added[0]));
      }),
      { numRuns: cases(12), seed: testSeed(42) },
    );
  });

  it('text that is not an address is not a client (B7)', async () => {
    const server = await suite.serve({ name: 'no-address', policy }, { trustLoopback: true });

    const statuses = [];
    for (const text of ['unknown', '_hidden', '01.02.03.04', '1.2.3', '0x7f.1', '1.2.3.4.5', 'g::1', '1::2::3']) {
      statuses.push((await server.send(from(text))).status);
    }

    expect(new Set(statuses)).toEqual(new Set([403]));
    expect(server.calls.count).toBe(0);
  });
}
