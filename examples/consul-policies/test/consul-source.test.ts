import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createPolicies } from '@sluice/core/managed';
import { fixedWindow } from '@sluice/express';
import {
  consulAgents,
  ConsulStub,
  CONSUL_MANAGEMENT,
  describePolicySource,
  until,
  type PolicyServer,
} from '@sluice/testkit';
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
          const names = Object.keys(await consulSource({ address: agent.address }).load());
          for (const name of names)
            await fetch(keys + encodeURIComponent(name.replaceAll('/', '%2F')), { method: 'DELETE' });
        },
        spoil: () => fetch(`${keys}orders`, { method: 'PUT', body: 'ten an hour' }),
        kill: () => agent.close(),
        stop: () => Promise.resolve(),
      };
    },
    open: ({ address }) => Promise.resolve({ source: consulSource({ address }) }),
    programs: new URL('../dist/', import.meta.url),
    env: ({ address }) => ({ CONSUL_HTTP_ADDR: address }),
  });
}

const ten = fixedWindow({ limit: 10, window: '1m' });

describe.each(consulAgents({ acl: true }))('a token in %s', (_name, start) => {
  it('without rights is an error, and not a folder without policies', async () => {
    const agent = await start();
    const policiesBy = (token: string) => createPolicies(consulSource({ address: agent.address, token }));
    await policiesBy(CONSUL_MANAGEMENT).put('orders', ten);

    await expect(policiesBy(await agent.weakToken()).get('orders')).rejects.toThrow(
      'the token may not read these keys',
    );
    await agent.close();
  });
});

describe('a Consul with faults', () => {
  let consul: ConsulStub;
  let endWatch: (() => void) | undefined;
  let changes = 0;
  const source = () => consulSource({ address: consul.address, timeoutMs: 50 });
  const put = (text: string): void => {
    consul.put('sluice/policies/orders', text);
  };
  const held = () => until('a question is held back', () => consul.held === 1);
  /** Waits until a change is reported that is made while Consul is asked. */
  async function expectToHear(change: string): Promise<void> {
    await held();
    const before = changes;
    put(change);
    await until('it is reported', () => changes === before + 1);
  }
  beforeEach(async () => {
    consul = await ConsulStub.start();
    put('{}');
  });
  afterEach(async () => {
    endWatch?.();
    await consul.close();
  });
  const watch = (): void => {
    endWatch = source().watch?.(() => changes++) as () => void;
  };

  it.each([
    [{ status: 500, body: 'No cluster leader' }, '500 No cluster leader'],
    [{ status: 404, body: 'no such page' }, '404 no such page'],
    ['hangs', 'does not answer'],
    ['is cut', 'does not answer'],
  ] as const)('rejects a load with its address and the reason: %j', async (fault, reason) => {
    consul.befall(fault);

    const failure = await source().load().catch(String);

    expect(failure).toContain(`Consul at ${consul.address}`);
    expect(failure).toContain(reason);
  });

  it('is asked from 0 if its index goes back, as after a restored snapshot', async () => {
    for (let i = 0; i < 50; i++) put(`{"i":${String(i)}}`);
    watch();
    await held();
    consul.restore({ 'sluice/policies/orders': '{"i":20}' });
    await until('it asks from 0', () => consul.asked.slice(1).some(({ query }) => query['index'] === '0'));

    await expectToHear('{"i":21}');
  });

  it('is not asked in a busy loop if its index is none', async () => {
    consul.sayIndex('0');
    watch();
    await until('it has asked again', () => consul.asked.length >= 3);

    expect(consul.asked.slice(0, 3).map(({ query }) => query['index'])).toEqual(['0', '1', '1']);
  });

  it('may hold a folder and keys of others, which are no policies', async () => {
    for (const key of ['', 'notes/today', '__proto__']) consul.put(`sluice/policies/${key}`, '{}');
    consul.put('sluice/policies-of-others', '{}');

    expect(Object.keys(await source().load()).sort()).toEqual(['__proto__', 'orders']);
  });
});
