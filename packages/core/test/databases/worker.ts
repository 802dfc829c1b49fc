// A Worker that performs what it is asked: in one object, or on its store.
import { durableObjectStore, type ObjectNamespace } from '../../src/durable-object/index.ts';
import * as core from '../../src/index.ts';
import { parsePolicy } from '../../src/policies/index.ts';
import type { Answer, Ask, Op } from '../../src/stores/store.ts';

export { SluiceObject } from '../../src/durable-object/index.ts';

/** A bundle knows the policies whose functions it uses. */
Object.assign(globalThis, { sluice: core });

export default {
  async fetch(request: Request, env: { readonly LIMITS: ObjectNamespace }): Promise<Response> {
    if (request.method === 'GET') return new Response('ready');
    if (request.url.endsWith('/object')) {
      const object = env.LIMITS.get(env.LIMITS.idFromName('all') as never);
      const response = await object.fetch('https://object/', { method: 'POST', body: await request.text() });
      const told = (await response.json()) as Answer | { readonly message: string };
      return Response.json(told, { status: 'message' in told ? 500 : 200 });
    }
    const store = durableObjectStore(env.LIMITS, { prefix: 'shop' });
    const { op, asks } = (await request.json()) as { readonly op: Op; readonly asks: readonly Ask[] };
    const answer = await store.perform(
      op,
      asks.map((ask) => ({ ...ask, policy: parsePolicy(ask.policy) })),
    );
    return Response.json(answer);
  },
};
