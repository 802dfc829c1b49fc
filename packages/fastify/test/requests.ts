import sluice, {
  fixedWindow,
  memoryStore,
  type FixedWindowPolicy,
  type SluiceOptions,
  type Store,
} from '@sluice/fastify';
import { newClient, useClosing, type HttpAnswer, type HttpClient } from '@sluice/testkit';
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';

export const one: FixedWindowPolicy = fixedWindow({ limit: 1, window: '1m' });
export const two: FixedWindowPolicy = fixedWindow({ limit: 2, window: '1m' });
export const ten: FixedWindowPolicy = fixedWindow({ limit: 10, window: '1m' });

const closing = useClosing();

/** An application, until the test ends. */
export function create(settings: FastifyServerOptions = {}): FastifyInstance {
  return closing(Fastify(settings));
}

/** An application with the plugin. */
export async function limited(options: SluiceOptions = {}): Promise<FastifyInstance> {
  const app = create();
  await app.register(sluice, options);
  return app;
}

/** A client of an application, which it starts. */
export async function clientOf(app: FastifyInstance): Promise<HttpClient> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  return newClient((app.server.address() as { port: number }).port);
}

/** The answers to requests such as `/a` and `HEAD /a`, one after the other. */
export async function answersOf(app: FastifyInstance, ...requests: string[]): Promise<HttpAnswer[]> {
  return (await clientOf(app)).answers(...requests);
}

export async function statusesOf(app: FastifyInstance, ...requests: string[]): Promise<number[]> {
  return (await clientOf(app)).statuses(...requests);
}

/** A store that counts how often it is called. */
export function counting(): Store & { calls: number } {
  const store = memoryStore();
  return {
    calls: 0,
    source: store.source,
    perform(op, asks) {
      this.calls++;
      return store.perform(op, asks);
    },
  };
}
