import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConsulStub, until } from '@sluice/testkit';
import { consulMembership, type ConsulMembershipOptions } from '../../src/split/index.ts';

const SECRET = 'a-secret-of-consul';
let consul: ConsulStub;
const leaves: (() => unknown)[] = [];
beforeEach(async () => {
  consul = await ConsulStub.start();
  register('a', 3);
});
afterEach(async () => {
  for (const leave of leaves.splice(0)) await leave();
  await consul.close();
});

function register(id: string, passing: number): void {
  consul.register({ ID: id, Name: 'gateways', Weights: { Passing: passing, Warning: 1 } });
}

interface Joined {
  readonly seen: string[];
  readonly errors: string[];
}

function join(options: Partial<ConsulMembershipOptions> = {}): Joined {
  const membership = consulMembership({ address: consul.address, service: 'gateways', id: 'a', ...options });
  const [seen, errors]: [string[], string[]] = [[], []];
  leaves.push(
    membership.join(
      ({ members }) => seen.push(JSON.stringify(members)),
      (error) => errors.push(inspected(error)),
    ),
  );
  return { seen, errors };
}

/** All that is known of an error: of its causes, too. */
function inspected(error: unknown): string {
  const { message, stack, cause } = error as Error;
  return [message, stack, JSON.stringify(error), cause === undefined ? '' : inspected(cause)].join(' ');
}

describe('consulMembership', () => {
  it('follows an index that goes back, as after a snapshot is restored', async () => {
    const { seen } = join();
    await until('it waits', () => consul.held === 1);
    consul.sayIndex('2');
    await until('it has begun again', () => consul.asked.slice(-3).some(({ query }) => !('index' in query)));
    consul.sayIndex(undefined);
    register('b', 1);

    await until('it sees the change', () => seen.at(-1) === '{"a":3,"b":1}');
  });

  it('waits from 1 where the index is not above 0, so that it does not ask all the time', async () => {
    consul.sayIndex('0');
    join();

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
    const { seen, errors } = join();
    await until('it says so', () => errors.length > 1);
    consul.befall(undefined);

    await until('it follows', () => seen.at(-1) === '{"a":3}');
    expect(errors[0]).toMatch(expected);
  });

  it('takes two instances of one id for an error, because each would have the share of both', async () => {
    const twice = JSON.stringify([{ Service: { ID: 'a' } }, { Service: { ID: 'a' } }]);
    consul.sayIndex('7');
    consul.befall({ status: 200, body: twice });
    const { seen, errors } = join();

    await until('it says so', () => errors.some((error) => error.includes('two instances have the id a')));
    expect(seen).toEqual([]);
  });

  it('asks servers, and not an agent that may have lost them', async () => {
    join();
    await until('it has asked', () => consul.asked.length > 1);

    expect(new Set(consul.asked.map(({ query }) => query['near']))).toEqual(new Set(['_agent']));
  });

  it.each([
    ['is denied', { status: 403, body: 'Permission denied' }],
    ['is repeated by the answer', { status: 403, body: `token ${SECRET} is wrong` }],
    ['cannot be sent', 'is cut'],
  ] as const)('has no token in an error when it %s', async (_what, fault) => {
    consul.befall(fault);
    const { errors } = join({ token: SECRET });

    await until('there are errors', () => errors.length > 1);
    expect(errors.filter((error) => error.includes(SECRET))).toEqual([]);
  });
});
