import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CONSUL_MANAGEMENT, consulAgents, until, type ConsulAgentUnderTest } from '@sluice/testkit';
import { consulMembership, type ConsulMembershipOptions, type Members } from '../../src/split/index.ts';

/** A membership that has joined, and what it was told. */
interface Joined {
  readonly seen: Members[];
  readonly errors: unknown[];
}

const leaves: (() => unknown)[] = [];

function join(options: ConsulMembershipOptions): Joined {
  const [seen, errors]: [Members[], unknown[]] = [[], []];
  const membership = consulMembership(options);
  leaves.push(
    membership.join(
      ({ members }) => seen.push(members),
      (error) => errors.push(error),
    ),
  );
  return { seen, errors };
}

/** The members of the last answer, in the order of their ids. */
const latest = ({ seen }: Joined): string =>
  JSON.stringify(Object.fromEntries(Object.entries(seen.at(-1) ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))));

/** Registers an instance, as a deployment does. */
async function register(address: string, id: string, weight: number, more: object = {}): Promise<void> {
  const weights = { Passing: weight, Warning: 1 };
  await put(address, '/v1/agent/service/register', { ID: id, Name: 'gateways', Weights: weights, ...more });
}

async function put(address: string, path: string, body?: object): Promise<void> {
  const headers = { 'X-Consul-Token': CONSUL_MANAGEMENT };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const { status } = await fetch(`${address}${path}`, { method: 'PUT', headers, ...sent });
  if (status !== 200) throw new Error(`${path} answered ${String(status)}`);
}

describe.each(consulAgents())('a service in %s', (_name, start) => {
  let agent: ConsulAgentUnderTest;
  beforeEach(async () => {
    agent = await start();
  });
  afterEach(async () => {
    for (const leave of leaves.splice(0)) await leave();
    await agent.close();
  });

  const member = (service = 'gateways'): Joined => join({ address: agent.address, service, id: 'a' });

  it('has its instances as members, with their weights, and loses one at once when it is removed', async () => {
    const one = member();
    await register(agent.address, 'a', 3);
    await register(agent.address, 'b', 1);
    await until('both are members', () => latest(one) === '{"a":3,"b":1}');

    await put(agent.address, '/v1/agent/service/deregister/b');

    await until('one is', () => latest(one) === '{"a":3}');
    expect(one.errors.map(String)).toEqual(one.errors.map(() => expect.stringContaining('lists no members')));
  });

  it('loses a member whose check is not renewed, and has it again when it is', async () => {
    const one = member();
    await register(agent.address, 'a', 1);
    await register(agent.address, 'b', 2, { Check: { CheckID: 'service:b', TTL: '2s', Status: 'passing' } });
    const bothAreMembers = async (): Promise<boolean> => {
      await put(agent.address, '/v1/agent/check/pass/service:b'); // however slow the machine is
      return latest(one) === '{"a":1,"b":2}';
    };
    await until('both are members', bothAreMembers);

    await until('one is', () => latest(one) === '{"a":1}');
    await until('both are again', bothAreMembers);
  });

  it('is of no other service, whatever its name', async () => {
    const odd = 'ünusual service?passing=false&';
    const [own, other] = [member(), member(odd)];
    await register(agent.address, 'a', 1);
    await register(agent.address, 'b', 1, { Name: odd });

    await until('each is alone', () => latest(own) === '{"a":1}' && latest(other) === '{"b":1}');
  });
});

describe.each(consulAgents({ acl: true }))('rights in %s', (_name, start) => {
  it('that a token lacks are an error, and no smaller list of members', async () => {
    const agent = await start();
    const given = { address: agent.address, service: 'gateways' };
    await register(agent.address, 'a', 1);
    const strong = join({ ...given, id: 'a', token: CONSUL_MANAGEMENT });
    const weak = join({ ...given, id: 'b', token: await agent.weakToken() });
    await until('it says so', () => weak.errors.length > 0);
    await until('the other is a member', () => latest(strong) === '{"a":1}');
    for (const leave of leaves.splice(0)) await leave();
    await agent.close();

    expect(weak.seen).toEqual([]);
    expect(weak.errors.map(String)).toContainEqual(expect.stringContaining('needs service:read and node:read'));
  });
});
