import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CONSUL_MANAGEMENT, consulAgents, until, type ConsulAgentUnderTest } from '@sluice/testkit';
import { consulMembership, type ConsulMembershipOptions, type Membership } from '../../src/split/index.ts';

type Members = Readonly<Record<string, number>>;

/** A membership that has joined, and what it was told. */
interface Joined {
  readonly seen: Members[];
  readonly errors: unknown[];
  leave(): Promise<void>;
}

const open: Joined[] = [];

function join(membership: Membership): Joined {
  const [seen, errors]: [Members[], unknown[]] = [[], []];
  const stop = membership.join(
    (confirmation) => {
      seen.push((confirmation as { members: Members }).members);
    },
    (error) => errors.push(error),
  );
  const joined = { seen, errors, leave: async () => Promise.resolve(stop()) };
  open.push(joined);
  return joined;
}

/** The members of the last answer, in the order of their ids. */
const latest = ({ seen }: Joined): string =>
  JSON.stringify(Object.fromEntries(Object.entries(seen.at(-1) ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))));

describe.each(consulAgents())('a service in %s', (_name, start) => {
  let agent: ConsulAgentUnderTest;
  beforeEach(async () => {
    agent = await start();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map(({ leave }) => leave()));
    await agent.close();
  });

  const member = (id: string, options: Partial<ConsulMembershipOptions> = {}): Joined =>
    join(consulMembership({ address: agent.address, service: 'gateways', id, ...options }));

  it('has the instances that register themselves as members, with their weights', async () => {
    const [heavy] = [member('a', { register: { weight: 3 } }), member('b', { register: true })];

    await until('both are members', () => latest(heavy) === '{"a":3,"b":1}');
    expect(heavy.errors.map(String)).toEqual(heavy.errors.map(() => expect.stringContaining('lists no members')));
  });

  it('loses a member at once when it leaves', async () => {
    const [stays, leaves] = [member('a', { register: true }), member('b', { register: true })];
    await until('both are members', () => latest(stays) === '{"a":1,"b":1}');
    await leaves.leave();

    await until('one is', () => latest(stays) === '{"a":1}');
  });

  it('loses a member whose check is not renewed, and has it again when it is', async () => {
    const stays = member('a', { register: true });
    await put('/v1/agent/service/register', {
      ID: 'b',
      Name: 'gateways',
      Weights: { Passing: 2, Warning: 1 },
      Check: { CheckID: 'service:b', TTL: '2s', Status: 'passing' },
    });
    const bothAreMembers = async (): Promise<boolean> => {
      await put('/v1/agent/check/pass/service:b'); // however slow the machine is
      return latest(stays) === '{"a":1,"b":2}';
    };
    await until('both are members', bothAreMembers);

    await until('one is', () => latest(stays) === '{"a":1}');
    await until('both are again', bothAreMembers);
  });

  it('has an instance again that the agent has lost', async () => {
    const [stays] = [member('a', { register: true }), member('b', { register: { checkTtlMs: 1000 } })];
    await until('both are members', () => latest(stays) === '{"a":1,"b":1}');
    await put('/v1/agent/service/deregister/b');

    await until('it is registered', async () => (await registered()).includes('b'));
    await until('it is back', () => latest(stays) === '{"a":1,"b":1}');
  });

  it('is of no other service, whatever its name', async () => {
    const odd = 'ünusual service?passing=false&';
    const [own, other] = [member('a', { register: true }), member('b', { service: odd, register: true })];

    await until('each is alone', () => latest(own) === '{"a":1}' && latest(other) === '{"b":1}');
  });

  async function registered(): Promise<readonly string[]> {
    const response = await fetch(`${agent.address}/v1/health/service/gateways`);
    return ((await response.json()) as readonly { Service: { ID: string } }[]).map(({ Service }) => Service.ID);
  }

  async function put(path: string, body?: object): Promise<void> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const { status } = await fetch(`${agent.address}${path}`, { method: 'PUT', ...sent });
    if (status !== 200) throw new Error(`${path} answered ${String(status)}`);
  }
});

describe.each(consulAgents({ acl: true }))('rights in %s', (_name, start) => {
  it('that a token lacks are an error, and no smaller list of members', async () => {
    const agent = await start();
    const given = { address: agent.address, service: 'gateways' };
    const strong = join(consulMembership({ ...given, id: 'a', token: CONSUL_MANAGEMENT, register: true }));
    const weak = join(consulMembership({ ...given, id: 'b', token: await agent.weakToken(), register: true }));
    await until('it says so', () => weak.errors.length > 2);
    await until('the other is a member', () => latest(strong) === '{"a":1}');
    for (const { leave } of open.splice(0)) await leave();
    await agent.close();

    expect(weak.seen).toEqual([]);
    expect(weak.errors.map(String)).toContainEqual(expect.stringContaining('needs service:read and node:read'));
    expect(weak.errors.map(String)).toContainEqual(expect.stringMatching(/register answered 403 Permission denied/));
  });
});
