import { describe, expect, it } from '@jest/globals';
import { byAll, byRoute } from '@sluice/old-http';
import { createLimiter, fixedWindow, memoryStore } from '@sluice/old-core';
import { Enforcer, Layer } from '@sluice/old-http/spi';
import { testFramework, TestResponse, type TestRequest } from '@sluice/testkit';

const two = fixedWindow({ limit: 2, window: '1h' });
const three = fixedWindow({ limit: 3, window: '1h' });

type PlainLayer = Layer<TestRequest, TestResponse>;

async function remaining(layer: PlainLayer, request: TestRequest = {}): Promise<readonly unknown[]> {
  const { info } = await new Enforcer([layer], testFramework).enforce(request, new TestResponse());
  return (info?.decision.policies ?? []).map(({ name, remaining: left }) => `${name} ${String(left)}`);
}

describe('a variant of a layer', () => {
  it('leaves entries of limits out, and counts the others in the same budgets', async () => {
    const layer: PlainLayer = new Layer(
      {
        limits: [
          { name: 'short', policy: two, key: byAll() },
          { name: 'long', policy: three },
        ],
      },
      testFramework,
    );
    const long = layer.variant({ without: ['short'] });

    expect(await remaining(layer)).toEqual(['short 1', 'long 2']);
    expect(await remaining(long)).toEqual(['long 1']);
    expect(await remaining(layer)).toEqual(['short 0', 'long 0']);
  });

  it('leaves alone what the layer has noticed', async () => {
    const layer: PlainLayer = new Layer({ policy: two }, testFramework);
    const request = {};
    await remaining(layer, request);

    expect(await remaining(layer.variant({}), request)).toEqual([]);
    expect(await remaining(layer)).toEqual(['default 0']);
  });

  it('is read by another framework', async () => {
    const layer: PlainLayer = new Layer({ policy: two, key: byRoute() }, testFramework);
    const elsewhere = layer.variant({ framework: { ...testFramework, route: () => 'Orders.list' } });

    expect(await layer.keyFor({ route: '/orders' })).toBe('/orders');
    expect(await elsewhere.keyFor({ route: '/orders' })).toBe('Orders.list');
  });

  it('takes no name', () => {
    const store = memoryStore();
    const layer: PlainLayer = new Layer({ name: 'orders', policy: two, store }, testFramework);

    layer.variant({}).claim();

    expect(() => createLimiter({ name: 'orders', policy: two, store })).not.toThrow();
  });
});
