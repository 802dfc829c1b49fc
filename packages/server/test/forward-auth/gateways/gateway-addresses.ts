import { describe, expect, it } from '@jest/globals';
import { cases, ipv4Spellings, ipv6Spellings, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { send, statusesOf } from './client.ts';
import type { GatewayTarget } from './gateway-target.ts';
import { useStack } from './stack.ts';

const byAddress = 'name: address, policy: { fixedWindow: { limit: 3, window: 1h } }';

/** Fields that some proxy or application takes for the address of a client. */
const NAMES = [
  ...['X-Forwarded-For', 'X-Real-IP', 'CF-Connecting-IP', 'True-Client-IP', 'X-Client-IP', 'X-Cluster-Client-IP'],
  ...['Fastly-Client-IP', 'X-Forwarded', 'Forwarded-For', 'Client-IP', 'Via', 'X-Original-For', 'x-real-ip'],
];

/** One budget for a client, whatever it says about its address. */
export function addresses(target: GatewayTarget): void {
  describe('a limit of an address', () => {
    const stack = useStack(target);

    it('is that of the connection, whatever fields the client sends (B6)', async () => {
      await stack.limit(byAddress);
      stack.serve((_asked, response) => response.end());
      const forged: Record<string, string | readonly string[]>[] = [
        ...NAMES.map((name, i) => ({ [name]: `203.0.113.${String(i)}` })),
        { Forwarded: 'for=203.0.113.50;proto=https' },
        { 'X-Forwarded-For': ['203.0.113.51', '203.0.113.52'] },
        { 'X-Forwarded-For': '203.0.113.53:4711, 127.0.0.1' },
        { 'X-Forwarded-For': 'unknown, , _hidden' },
        { 'X-Forwarded-For': '', 'X-Real-IP': '' },
        { 'X-Forwarded-For': '2001:db8::1', 'X-Real-IP': '2001:db8::2', 'X-Forwarded-Proto': 'https' },
      ];

      const statuses = [];
      for (const headers of forged) statuses.push((await send(stack.ports.gateway, { headers })).status);
      const another = await send(stack.ports.gateway, { from: '127.0.0.2' });

      expect(statuses).toEqual(forged.map((_headers, i) => (i < 3 ? 200 : 429)));
      expect(another.status).toBe(200);
    });
  });

  describe('a limit of an address, behind a proxy in front of the gateway', () => {
    const stack = useStack(target, { isPatient: true, behindProxy: true });

    it.each([
      ['IPv4', ipv4Spellings],
      ['IPv6', ipv6Spellings],
    ])('is one for all spellings of an %s address (B7)', async (_family, spellingsOfOne) => {
      await stack.limit(byAddress);
      stack.serve((_asked, response) => response.end());
      const seen = new Set<string>();

      await fc.assert(
        fc.asyncProperty(spellingsOfOne, async (spelt) => {
          const [plain = ''] = spelt;
          if (seen.has(plain)) return; // its budget is used
          seen.add(plain);

          const statuses = [];
          for (const one of spelt) {
            statuses.push((await send(stack.ports.gateway, { headers: { 'X-Forwarded-For': one } })).status);
          }

          expect(statuses).toEqual(spelt.map((_one, i) => (i < 3 ? 200 : 429)));
        }),
        { numRuns: cases(15), seed: testSeed(42) },
      );
    });

    it('is that of the last address that the proxy states', async () => {
      await stack.limit(byAddress);
      stack.serve((_asked, response) => response.end());
      const from = async (address: string, count = 1): Promise<number[]> =>
        statusesOf(stack.ports.gateway, count, { headers: { 'X-Forwarded-For': address } });

      const statuses = [
        ...(await from('203.0.113.1', 3)),
        ...(await from('203.0.113.1')),
        ...(await from('203.0.113.2')),
        ...(await from('6.6.6.6, 203.0.113.1')),
        ...(await from('unknown, 203.0.113.1:4711')),
      ];

      expect(statuses).toEqual([200, 200, 200, 429, 200, 429, 429]);
    });

    it.each(['unknown', '_hidden', '01.02.03.04', '1.2.3', '0x7f.1', 'g::1', '1::2::3'])(
      'is none for what is no address, which gets 403: %s',
      async (address) => {
        await stack.limit(byAddress);
        stack.serve((_asked, response) => response.end());

        expect(await statusesOf(stack.ports.gateway, 1, { headers: { 'X-Forwarded-For': address } })).toEqual([403]);
      },
    );
  });
}
