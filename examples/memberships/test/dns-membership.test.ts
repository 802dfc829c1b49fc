import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ExampleProcess, until } from '@sluice/testkit';
import { dnsMembership, srvMembership } from '../src/dns-membership.ts';
import { Dnsmasq } from './dnsmasq.ts';
import { join, latest, type Joined } from './joined.ts';

const SRV = '_gateway._tcp.test';
const dns = new Dnsmasq();
const all: Joined[] = [];
beforeAll(() => dns.serve());
afterEach(async () => {
  for (const one of all.splice(0)) await one.leave();
});
afterAll(() => dns.kill());

function joined(membership: typeof dnsMembership, name: string, self: string): Joined {
  const one = join(membership({ name, self, servers: [dns.address] }));
  all.push(one);
  return one;
}

describe('members in the DNS', () => {
  it('are the addresses of a name, as they change', async () => {
    await dns.serve('host-record=gateways.test,10.0.0.1', 'host-record=gateways.test,10.0.0.2');
    const one = joined(dnsMembership, 'gateways.test', '10.0.0.2');
    await until('both are members', () => latest(one) === '{"10.0.0.1":1,"10.0.0.2":1}');
    await dns.serve('host-record=gateways.test,10.0.0.2', 'host-record=gateways.test,10.0.0.3');

    await until('one is another', () => latest(one) === '{"10.0.0.2":1,"10.0.0.3":1}');
  });

  it('are the targets of SRV records, with their weights', async () => {
    await dns.serve(
      `srv-host=${SRV},gw-1.Example.test,8080,1,3`,
      `srv-host=${SRV},gw-2.example.test,8080,1,1`,
      `srv-host=${SRV},gw-2.example.test,8081,2,0`,
    );
    const one = joined(srvMembership, SRV, 'gw-1.example.test:8080');

    await until(
      'all are members',
      () => latest(one) === '{"gw-1.example.test:8080":3,"gw-2.example.test:8080":1,"gw-2.example.test:8081":1}',
    );
  });

  it('are not told by a name without records, nor by a server that is away', async () => {
    await dns.serve();
    const one = joined(dnsMembership, 'gateways.test', '10.0.0.1');
    await until('it says so', () => one.errors.some((error) => error.includes('ENOTFOUND')));
    await dns.kill();
    await until('it says so', () => one.errors.some((error) => !error.includes('ENOTFOUND')));
    await dns.serve('host-record=gateways.test,10.0.0.1');

    await until('it is told', () => latest(one) === '{"10.0.0.1":1}');
    expect(one.seen.filter((members) => Object.keys(members).length === 0)).toEqual([]);
  });
});

it('the example has half of the limit beside another member', async () => {
  await dns.serve('host-record=gateways.test,10.0.0.1', 'host-record=gateways.test,10.0.0.2');
  const env = { SERVICE: 'gateways.test', SELF: '10.0.0.2', DNS_SERVER: dns.address };
  const example = new ExampleProcess(new URL('../dist/main.js', import.meta.url), env);

  await example.prints('10.0.0.2: 50 of 100 a second');
  example.stop();
  expect(await example.ends()).toBe(0);
});
