import { fixedWindow, memoryStore, type FixedWindowPolicy, type Store } from '@sluice/fastify';
import type { FastifyInstance } from 'fastify';

export const one: FixedWindowPolicy = fixedWindow({ limit: 1, window: '1m' });
export const two: FixedWindowPolicy = fixedWindow({ limit: 2, window: '1m' });
export const ten: FixedWindowPolicy = fixedWindow({ limit: 10, window: '1m' });

/** Answers to requests such as `/a` and `HEAD /a`, one after the other, over real HTTP. */
export async function answersOf(app: FastifyInstance, requests: readonly string[]): Promise<Response[]> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const all: Response[] = [];
  for (const request of requests) {
    const [method = '', path = ''] = request.includes(' ') ? request.split(' ') : ['GET', request];
    all.push(await fetch(`http://127.0.0.1:${String(port)}${path}`, { method }));
  }
  return all;
}

/** A store that counts how often it is called. */
export function counting(): Store & { calls: number } {
  const store = memoryStore();
  return {
    calls: 0,
    source: store.source,
    perform(requests) {
      this.calls++;
      return store.perform(requests);
    },
  };
}
