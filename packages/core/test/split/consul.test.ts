import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  CONSUL_MANAGEMENT,
  consulAgents,
  ConsulStub,
  until,
  useClosing,
  type ConsulAgentUnderTest,
} from '@sluice/testkit';
import { consulMembership, type ConsulMembershipOptions, type Members } from '../../src/split/index.ts';

const closeLater = useClosing();

/** Joins, and returns what the membership is told. */
function join(address: string, options: Partial<ConsulMembershipOptions> = {}) {
  const [seen, errors]: [Members[], string[]] = [[], []];
  const membership = consulMembership({ address, service: 'gateways', id: 'a', ...options });
  const leave = membership.join(
    ({ members }) => seen.push(members),
    (error) => errors.push(inspected(error)),
  );
  closeLater(leave);
  return { seen, errors };
}

/** All that is known of an error: of its causes, too. */
function inspected(error: unknown): string {
  const { message, stack, cause } = error as Error;
  return [message, stack, JSON.stringify(error), cause === undefined ? '' : inspected(cause)].join(' ');
}

/** The members of the last answer, in the order of their ids. */
const latest = ({ seen }: ReturnType<typeof join>): string =>
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
    agent = closeLater(await start());
  });

  const member = (service = 'gateways') => join(agent.address, { service });

  it('has its instances as members, with their weights, and loses one at once when it is removed', async () => {
    const one = member();
    await register(agent.address, 'a', 3);
    await register(agent.address, 'b', 1);
    await until('both are members', () => latest(one) === '{"a":3,"b":1}');

    await put(agent.address, '/v1/agent/service/deregister/b');

    await until('one is', () => latest(one) === '{"a":3}');
    expect(one.errors.filter((error) => !error.includes('lists no members'))).toEqual([]);
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
    const agent = closeLater(await start());
    await register(agent.address, 'a', 1);
    const strong = join(agent.address, { token: CONSUL_MANAGEMENT });
    const weak = join(agent.address, { id: 'b', token: await agent.weakToken() });
    await until('it says so', () => weak.errors.length > 0);
    await until('the other is a member', () => latest(strong) === '{"a":1}');

    expect(weak.seen).toEqual([]);
    expect(weak.errors.join()).toContain('needs service:read and node:read');
  });
});

describe('consulMembership', () => {
  const SECRET = 'a-secret-of-consul';
  let consul: ConsulStub;
  beforeEach(async () => {
    consul = closeLater(await ConsulStub.start());
    list('a', 3);
  });
  const list = (ID: string, Passing: number): void => {
    consul.register({ ID, Name: 'gateways', Weights: { Passing, Warning: 1 } });
  };

  it('follows an index that goes back, as after a snapshot is restored', async () => {
    const joined = join(consul.address);
    await until('it waits', () => consul.held === 1);
    consul.sayIndex('2');
    await until('it has begun again', () => consul.asked.slice(-3).some(({ query }) => !('index' in query)));
    consul.sayIndex(undefined);
    list('b', 1);

    await until('it sees the change', () => latest(joined) === '{"a":3,"b":1}');
  });

  it('waits from 1 where the index is not above 0, so that it does not ask all the time', async () => {
    consul.sayIndex('0');
    join(consul.address);

    await until('it asks again', () => consul.asked.some(({ query }) => query['index'] === '1'));
  });

  it.each([
    ['is cut off', 'is cut' as const, /GET \/v1\/health\/service\/gateways: fetch failed/],
    ['answers an error', { status: 500, body: 'No cluster leader' }, /gateways: 500 No cluster leader/],
    ['answers a page', { status: 200, body: '<html>' }, /expected a list of instances, got <html>/],
    ['answers other JSON', { status: 200, body: '[{"Service":7}]' }, /expected a list of instances/],
    ['is another server', { status: 200, body: '[{"Service":{"ID":"a"}}]' }, /no index, so it is not from Consul/],
  ])('says so when Consul %s, and follows it afterwards', async (_what, fault, expected) => {
    consul.befall(fault);
    const joined = join(consul.address);
    await until('it says so', () => joined.errors.length > 1);
    consul.befall(undefined);

    await until('it follows', () => latest(joined) === '{"a":3}');
    expect(joined.errors[0]).toMatch(expected);
  });

  it('takes two instances of one id for an error, because each would have the share of both', async () => {
    const twice = JSON.stringify([{ Service: { ID: 'a' } }, { Service: { ID: 'a' } }]);
    consul.sayIndex('7');
    consul.befall({ status: 200, body: twice });
    const { seen, errors } = join(consul.address);

    await until('it says so', () => errors.some((error) => error.includes('two instances have the id a')));
    expect(seen).toEqual([]);
  });

  it('asks servers, and not an agent that may have lost them', async () => {
    join(consul.address);
    await until('it has asked', () => consul.asked.length > 1);

    expect(new Set(consul.asked.map(({ query }) => query['near']))).toEqual(new Set(['_agent']));
  });

  it.each([
    ['is denied', { status: 403, body: 'Permission denied' }],
    ['is repeated by the answer', { status: 403, body: `token ${SECRET} is wrong` }],
    ['cannot be sent', 'is cut'],
  ] as const)('has no token in an error when it %s', async (_what, fault) => {
    consul.befall(fault);
    const { errors } = join(consul.address, { token: SECRET });

    await until('there are errors', () => errors.length > 1);
    expect(errors.filter((error) => error.includes(SECRET))).toEqual([]);
  });
});
