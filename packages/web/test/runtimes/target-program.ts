// The contract's targets as programs of their own, on the server of Bun or of Deno: web, or hono.
import { fromBun, fromDeno } from '@sluice/web';
import { serveTarget, withoutHttp2, type AdapterTarget, type RunningApp } from '@sluice/testkit/target';
import { errorResponse, fetchApp, header, responseOf } from '../fetch-app.ts';
import { honoApp, honoHeader } from '../hono-app.ts';

type Handler = (request: Request, context: never) => Response | Promise<Response>;

/** The parts of the global objects of both that a target needs. */
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
const peer = Bun === undefined ? fromDeno : fromBun();

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

const common = {
  impossible: withoutHttp2('its server speaks no HTTP/2 without TLS'),
  answer: (_response: never, answer: Parameters<typeof responseOf>[0]) => responseOf(answer),
};
const targets: Readonly<Record<string, AdapterTarget>> = {
  web: { ...common, name: 'fetch handlers', header, start: (app) => Promise.resolve(serve(fetchApp(app, peer))) },
  hono: {
    ...common,
    name: 'Hono',
    header: honoHeader,
    start: (app) => {
      const hono = honoApp(app, peer);
      return Promise.resolve(serve((request, context) => hono.fetch(request, context)));
    },
  },
};
const target = targets[process.argv[2] ?? ''];
if (target === undefined) throw new Error('name a target: web or hono');
await serveTarget(target);
