import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createPolicies } from '@sluice/core/managed';
import { fixedWindow } from '@sluice/express';
import { consulAgents, ConsulStub, CONSUL_MANAGEMENT, describePolicySource, type PolicyServer } from '@sluice/testkit';
import { consulSource } from '../src/consul-source.ts';

interface Server extends PolicyServer {
  readonly address: string;
}

// The stub, and a real one if CONSUL of the environment names its program.
for (const [name, start] of consulAgents()) {
  describePolicySource<Server>(name, {
    start: async () => {
      const agent = await start();
      const keys = `${agent.address}/v1/kv/sluice/policies/`;
      return {
        address: agent.address,
        clear: async () => {
          const names = Object.keys(await consulSource(agent.address).load());
          for (const name of names)
            await fetch(keys + encodeURIComponent(name.replaceAll('/', '%2F')), { method: 'DELETE' });
        },
        spoil: () => fetch(`${keys}orders`, { method: 'PUT', body: 'ten an hour' }),
        kill: () => agent.close(),
        stop: () => Promise.resolve(),
      };
    },
    open: ({ address }) => Promise.resolve({ source: consulSource(address) }),
    programs: new URL('../dist/', import.meta.url),
    env: ({ address }) => ({ CONSUL_HTTP_ADDR: address }),
  });
}

const ten = fixedWindow({ limit: 10, window: '1m' });

describe.each(consulAgents({ acl: true }))('a token in %s', (_name, start) => {
  it('without rights is an error, and not a folder without policies', async () => {
    const agent = await start();
    const policiesBy = (token: string) => createPolicies(consulSource(agent.address, token));
    await policiesBy(CONSUL_MANAGEMENT).put('orders', ten);

    await expect(policiesBy(await agent.weakToken()).get('orders')).rejects.toThrow(
      'the token may not read these keys',
    );
    await agent.close();
  });
});

describe('a Consul with faults', () => {
  let consul: ConsulStub;
  beforeEach(async () => {
    consul = await ConsulStub.start();
  });
  afterEach(() => consul.close());

  it.each([
    [{ status: 500, body: 'No cluster leader' }, '500 No cluster leader'],
    [{ status: 404, body: 'no such page' }, '404 no such page'],
    ['is cut', 'does not answer'],
  ] as const)('rejects a load with its address and the reason: %j', async (fault, reason) => {
    consul.befall(fault);

    await expect(consulSource(consul.address).load()).rejects.toThrow(
      new RegExp(`^Consul at ${consul.address} .*${reason}`),
    );
  });

  it('may hold a folder and keys of others, which are no policies', async () => {
    for (const key of ['/', '/orders', '/__proto__', '/notes/today', '-of-others'])
      await fetch(`${consul.address}/v1/kv/sluice/policies${key}`, { method: 'PUT', body: '{}' });

    expect(Object.keys(await consulSource(consul.address).load()).sort()).toEqual(['__proto__', 'orders']);
  });
});
