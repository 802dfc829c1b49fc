// The contract in short, under the test runner of Bun or Deno, with fetch handlers and Hono on its server.
import { fromBun, fromDeno } from '@sluice/web';
import { describeInShort, type AdapterUnderTest, type Listening } from '@sluice/testkit/contract';
import { errorResponse, fetchApp, responseOf, type Fetch } from '../fetch-app.ts';
import { honoApp } from '../hono-app.ts';
import { impossibleInHono, impossibleOn } from '../impossible.ts';

/** The parts of the global objects of both that serve. */
interface Runtimes {
  readonly Bun?: {
    serve(options: object): { readonly port: number; stop(closesConnections: boolean): Promise<void> };
  };
  readonly Deno?: {
    serve(options: object, handler: Fetch): { readonly addr: { readonly port: number } };
  };
}

const { Bun, Deno } = globalThis as Runtimes;
const [runtime, peer] = Bun === undefined ? (['Deno', fromDeno] as const) : (['Bun', fromBun()] as const);

function serve(fetch: Fetch): Listening {
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
  return { port: server.addr.port, close: async () => stopped.abort() };
}

const answer: AdapterUnderTest['answer'] = (_response, answered) => responseOf(answered);
describeInShort({
  ...{ name: 'fetch handlers', answer, impossible: impossibleOn(runtime) },
  start: async (app) => Promise.resolve(serve(fetchApp(app, peer))),
});
describeInShort({
  ...{ name: 'Hono', answer, impossible: impossibleInHono(runtime) },
  start: async (app) => Promise.resolve(serve(honoApp(app, peer).fetch)),
});
