// The contract in short, under the test runner of Bun or Deno, with fetch handlers and Hono on its server.
import { fromBun, fromDeno } from '@sluice/web';
import { describeAdapter, smoke, type RunningApp } from '@sluice/testkit/contract';
import { errorResponse, fetchApp, responseOf } from '../fetch-app.ts';
import { honoApp } from '../hono-app.ts';
import { impossibleInHono, impossibleOn } from '../impossible.ts';

type Handler = (request: Request, context: never) => Response | Promise<Response>;

/** The parts of the global objects of both that serve. */
interface Runtimes {
  readonly Bun?: {
    serve(options: {
      readonly port: number;
      readonly hostname: string;
      readonly idleTimeout: number;
      readonly fetch: Handler;
      readonly error: (error: unknown) => Response;
    }): { readonly port: number; stop(closesConnections: boolean): Promise<void> };
  };
  readonly Deno?: {
    serve(
      options: {
        readonly port: number;
        readonly hostname: string;
        readonly signal: AbortSignal;
        readonly onListen: () => void;
        readonly onError: (error: unknown) => Response;
      },
      handler: Handler,
    ): { readonly addr: { readonly port: number }; readonly finished: Promise<void> };
  };
}

const { Bun, Deno } = globalThis as Runtimes;
const [runtime, peer] = Bun === undefined ? (['Deno', fromDeno] as const) : (['Bun', fromBun()] as const);

function serve(fetch: Handler): RunningApp {
  const [hostname, port] = ['127.0.0.1', 0];
  if (Bun !== undefined) {
    const server = Bun.serve({ hostname, port, fetch, error: errorResponse, idleTimeout: 0 });
    return { port: server.port, close: async () => server.stop(true) };
  }
  const stopped = new AbortController();
  const server = Deno?.serve(
    { hostname, port, signal: stopped.signal, onListen: () => undefined, onError: errorResponse },
    fetch,
  );
  if (server === undefined) throw new Error('neither Bun nor Deno runs this');
  return {
    port: server.addr.port,
    async close() {
      stopped.abort();
      await Promise.resolve();
    },
  };
}

describeAdapter(
  {
    name: 'fetch handlers',
    start: async (app) => Promise.resolve(serve(fetchApp(app, peer))),
    answer: (_response, answer) => responseOf(answer),
    impossible: impossibleOn(runtime),
  },
  smoke,
);
describeAdapter(
  {
    name: 'Hono',
    async start(app) {
      const hono = honoApp(app, peer);
      return Promise.resolve(serve((request, context) => hono.fetch(request, context)));
    },
    answer: (_response, answer) => responseOf(answer),
    impossible: impossibleInHono(runtime),
  },
  smoke,
);
