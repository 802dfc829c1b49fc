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
import { consulSource, type ConsulSourceOptions } from '../src/consul-source.ts';

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
  let endWatch: unknown;
  beforeEach(async () => {
    consul = await ConsulStub.start();
  });
  afterEach(async () => {
    (endWatch as (() => void) | undefined)?.();
    await consul.close();
  });

  const source = (options: ConsulSourceOptions = {}) => consulSource({ address: consul.address, ...options });
  /** Watches, and counts the changes that are reported. */
  function watch(options?: ConsulSourceOptions): () => number {
    let changes = 0;
    endWatch = source(options).watch?.(() => changes++);
    return () => changes;
  }
  const held = () => until('a question is held back', () => consul.held === 1);

  it.each([
    [{ status: 500, body: 'No cluster leader' }, '500 No cluster leader'],
    [{ status: 404, body: 'no such page' }, '404 no such page'],
    ['hangs', 'does not answer'],
    ['is cut', 'does not answer'],
  ] as const)('rejects a load with its address and the reason: %j', async (fault, reason) => {
    consul.befall('reads', fault);

    const failure = await source({ timeoutMs: 50 }).load().catch(String);

    expect(failure).toContain(`Consul at ${consul.address}`);
    expect(failure).toContain(reason);
  });

  it('is waited for with growing pauses, and its changes are reported again afterwards', async () => {
    const changes = watch();
    await held();
    consul.befall('reads', 'is cut');
    consul.befall('blocking queries', 'is cut');
    await until('it has tried again', () => consul.asked.filter(({ which }) => which === 'reads').length >= 3);
    consul.befall('reads', undefined);
    consul.befall('blocking queries', undefined);
    await held();
    const before = changes();
    consul.put('sluice/policies/orders', '{}');

    await until('it is reported', () => changes() === before + 1);
  });

  it('is asked from 0 if its index goes back, as after a restored snapshot', async () => {
    for (let i = 0; i < 50; i++) consul.put('sluice/policies/orders', `{"i":${String(i)}}`);
    const changes = watch();
    await held();
    consul.restore({ 'sluice/policies/orders': '{"i":20}' });
    await until('it asks from 0', () => consul.asked.slice(1).some(({ query }) => query['index'] === '0'));
    await held();
    const before = changes();
    consul.put('sluice/policies/orders', '{"i":21}');

    await until('it is reported', () => changes() === before + 1);
  });

  it('is not asked in a busy loop if its index is none', async () => {
    consul.sayIndex('0');
    watch();
    await until('it has asked again', () => consul.asked.length >= 3);

    expect(consul.asked.slice(0, 3).map(({ query }) => query['index'])).toEqual(['0', '1', '1']);
  });

  it('may hold keys of others, and a folder, which are no policies', async () => {
    consul.put('sluice/policies/', '');
    consul.put('sluice/policies/notes/today', 'milk');
    consul.put('sluice/policies-of-others', 'far away');
    consul.put('sluice/policies/__proto__', '{}');

    expect(Object.keys(await source().load())).toEqual(['__proto__']);
  });
});
