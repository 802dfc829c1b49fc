import { afterEach } from '@jest/globals';
import sluice, {
  fixedWindow,
  memoryStore,
  type FixedWindowPolicy,
  type SluiceOptions,
  type Store,
} from '@sluice/fastify';
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';

export const one: FixedWindowPolicy = fixedWindow({ limit: 1, window: '1m' });
export const two: FixedWindowPolicy = fixedWindow({ limit: 2, window: '1m' });
export const ten: FixedWindowPolicy = fixedWindow({ limit: 10, window: '1m' });

const running: FastifyInstance[] = [];

/** Closes the applications of each test. */
export function closeAfterEach(): void {
  afterEach(async () => {
    await Promise.all(running.splice(0).map((app) => app.close()));
  });
}

/** An application, until the test ends. */
export function create(settings: FastifyServerOptions = {}): FastifyInstance {
  const app = Fastify(settings);
  running.push(app);
  return app;
}

/** An application with the plugin. */
export async function limited(options: SluiceOptions = {}): Promise<FastifyInstance> {
  const app = create();
  await app.register(sluice, options);
  return app;
}

/** The port of an application, which it starts. */
export async function findPort(app: FastifyInstance): Promise<number> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as { port: number }).port;
}

/** Answers to requests such as `/a` and `HEAD /a`, one after the other, over real HTTP. */
export async function answersOf(app: FastifyInstance, ...requests: string[]): Promise<Response[]> {
  const port = await findPort(app);
  const all: Response[] = [];
  for (const request of requests) {
    const [path = '', method = 'GET'] = request.split(' ').reverse();
    all.push(await fetch(`http://127.0.0.1:${String(port)}${path}`, { method, headers: { connection: 'close' } }));
  }
  return all;
}

export async function statusesOf(app: FastifyInstance, ...requests: string[]): Promise<number[]> {
  return (await answersOf(app, ...requests)).map(({ status }) => status);
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
