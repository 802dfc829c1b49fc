import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ExampleProcess, until, useClosing } from '@sluice/testkit';
import { dnsMembership } from '../src/dns-membership.ts';
import { startDnsmasq, type Dnsmasq } from './dnsmasq.ts';
import { join, latest, type Joined } from './joined.ts';

let dns: Dnsmasq;
const closing = useClosing();
beforeAll(async () => {
  dns = await startDnsmasq();
});
afterAll(() => dns.kill());

function joined(self: string): Joined {
  const one = join(dnsMembership({ name: 'gateways.test', self, servers: [dns.address] }));
  closing(() => one.leave());
  return one;
}

describe('members in the DNS', () => {
  it('are the addresses of a name, as they change', async () => {
    await dns.serve('host-record=gateways.test,10.0.0.1', 'host-record=gateways.test,10.0.0.2');
    const one = joined('10.0.0.2');
    await until('both are members', () => latest(one) === '{"10.0.0.1":1,"10.0.0.2":1}');
    await dns.serve('host-record=gateways.test,10.0.0.2', 'host-record=gateways.test,10.0.0.3');

    await until('one is another', () => latest(one) === '{"10.0.0.2":1,"10.0.0.3":1}');
  });

  it('are not told by a name without records, nor by a server that is away', async () => {
    await dns.serve();
    const one = joined('10.0.0.1');
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
