import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sluice/testkit';
import { dnsMembership, type DnsMembershipOptions } from '@sluice/split';
import { Dnsmasq } from './dnsmasq.ts';

const SRV = '_gateway._tcp.test';
let dns: Dnsmasq;
const leaves: (() => unknown)[] = [];
beforeAll(async () => {
  dns = await Dnsmasq.start();
});
afterEach(async () => {
  for (const leave of leaves.splice(0)) await leave();
});
afterAll(async () => {
  await dns.stop();
});

interface Joined {
  readonly id: string;
  readonly seen: Readonly<Record<string, number>>[];
  readonly errors: string[];
}

function join(options: DnsMembershipOptions): Joined {
  const membership = dnsMembership({ everyMs: 50, servers: [dns.address], ...options });
  const joined: Joined = { id: membership.id, seen: [], errors: [] };
  leaves.push(
    membership.join(
      (confirmation) => joined.seen.push((confirmation as { members: Joined['seen'][number] }).members),
      (error) => joined.errors.push((error as Error).message),
    ),
  );
  return joined;
}

/** Waits for an answer with exactly these members. */
async function sees({ seen }: Joined, members: Readonly<Record<string, number>>): Promise<void> {
  const wanted = JSON.stringify(Object.entries(members).sort());
  await until(`it sees ${wanted}`, () => JSON.stringify(Object.entries(seen.at(-1) ?? {}).sort()) === wanted);
}

describe('dnsMembership, asking dnsmasq', () => {
  it('has the targets of SRV records as members, with their weights', async () => {
    await dns.serve(
      `srv-host=${SRV},gw-1.Example.test,8080,1,3`,
      `srv-host=${SRV},gw-2.example.test,8080,1,1`,
      `srv-host=${SRV},gw-2.example.test,8081,2,0`,
    );
    const joined = join({ name: SRV, type: 'SRV', self: 'GW-1.example.test.:8080' });

    await sees(joined, { 'gw-1.example.test:8080': 3, 'gw-2.example.test:8080': 1, 'gw-2.example.test:8081': 1 });
    expect(joined.id).toBe('gw-1.example.test:8080');
  });

  it('has addresses as members, and follows them', async () => {
    await dns.serve('host-record=gateways.test,10.0.0.1', 'host-record=gateways.test,10.0.0.2');
    const joined = join({ name: 'gateways.test', type: 'A', self: '10.0.0.2' });
    await sees(joined, { '10.0.0.1': 1, '10.0.0.2': 1 });
    await dns.serve('host-record=gateways.test,10.0.0.2', 'host-record=gateways.test,10.0.0.3');

    await sees(joined, { '10.0.0.2': 1, '10.0.0.3': 1 });
  });

  it('knows an IPv6 address in every form', async () => {
    await dns.serve('host-record=gateways.test,fd00::1', 'host-record=gateways.test,::ffff:10.0.0.1');
    const joined = join({ name: 'gateways.test', type: 'AAAA', self: 'FD00:0:0:0:0:0:0:1' });

    await sees(joined, { 'fd00::1': 1, '::ffff:a00:1': 1 });
    expect(joined.id).toBe('fd00::1');
  });

  it('takes a name without records, and a server that is away, for no answer', async () => {
    await dns.serve();
    const joined = join({ name: 'gateways.test', type: 'A', self: '10.0.0.1', ttlMs: 600 });
    await until('it says so', () => joined.errors.some((error) => error.includes('ENOTFOUND')));
    await dns.kill();
    await until('it says so', () => joined.errors.some((error) => !error.includes('ENOTFOUND')));
    await dns.serve('host-record=gateways.test,10.0.0.1');

    await sees(joined, { '10.0.0.1': 1 });
    expect(joined.seen.filter((members) => Object.keys(members).length === 0)).toEqual([]);
  });
});

describe('the options of dnsMembership', () => {
  it.each([
    ['name', { name: '' }, /a name of the DNS/],
    ['type', { type: 'TXT' }, /"SRV", "A" or "AAAA"/],
    ['self', { self: 'gw-1' }, /target:port/],
    ['self', { type: 'A', self: 'fd00::1' }, /an IPv4 address/],
    ['self', { type: 'AAAA', self: '10.0.0.1' }, /an IPv6 address/],
    ['servers', { servers: ['ns.example'] }, /a list of IP addresses/],
    ['ttlMs', { ttlMs: 3000 }, /from 4000/],
  ])('say what is wrong with %s', (field, wrong, expected) => {
    const given = { name: SRV, type: 'SRV', self: 'gw-1:8080' };

    expect(() => dnsMembership({ ...given, ...wrong } as DnsMembershipOptions)).toThrow(
      expect.objectContaining({ field, message: expect.stringMatching(expected) as unknown }),
    );
  });
});
