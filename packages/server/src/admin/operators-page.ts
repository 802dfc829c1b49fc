import type { IncomingMessage } from 'node:http';
import { connectionOf, LimiterImpl } from '@sluice/old-core/spi';
import { page, type PageChange, type PageHandler } from '@sluice/page';
import type { Entrance } from '../access.ts';
import type { Settings } from '../options.ts';
import type { Service } from '../service.ts';
import { isLocal } from '../transport/address.ts';
import type { Route } from '../transport/http.ts';
import { sendProblem } from '../transport/send.ts';

/** What the page answers, below `/`. */
const RESOURCES = ['', 'snapshot', 'events', 'key', 'block', 'unblock', 'reset', 'override', 'end-override'];

/** The operators' page of a service, whose limits it shows. */
export interface ServedPage {
  readonly routes: readonly Route[];
  /** Stops counting, and ends the pages that are open. */
  close(): Promise<void>;
}

/**
 * The page on the listener of operators: for all on this machine where the listener is private, else for those with the
 * token. Undefined where there is no such listener. Counts from now on.
 */
export function operatorsPage(
  service: Service,
  { listeners: { admin }, token, siblings, log }: Pick<Settings, 'listeners' | 'token' | 'siblings' | 'log'>,
): ServedPage | undefined {
  if (admin === undefined) return undefined;
  const entrance = { isPrivate: isLocal(admin) };
  if (!entrance.isPrivate && token === undefined) return { routes: [NEEDS_TOKEN], close: () => Promise.resolve() };
  const handler = page<IncomingMessage>({
    ...(entrance.isPrivate ? { authorize: () => true } : { token }),
    secret: token ?? siblings?.secret,
    share: connectionOf(service.store) !== undefined, // memory is this process alone
    limiters: [new LimiterImpl<never>(service.core, new Map())],
    log: (change) => {
      log(written(change));
    },
  });
  return {
    routes: RESOURCES.map((name) => route(service, { path: `/${name}`, entrance, handler })),
    close: () => handler.close(),
  };
}

/** Without a token no client could use the page. */
const NEEDS_TOKEN: Route = {
  path: '/',
  method: 'GET',
  handle: (_request, response) => {
    sendProblem(
      response,
      401,
      'Unauthorized',
      "the operators' page needs a token on a listener that strangers reach: start with --token (SLUICE_TOKEN), or listen on the loopback",
    );
  },
};

function route(
  { access }: Service,
  { path, entrance, handler }: { readonly path: string; readonly entrance: Entrance; readonly handler: PageHandler },
): Route {
  return {
    path,
    // A page that is open would hold its place for hours; the page itself bounds how many are.
    place: path === '/events' ? 'never' : 'at once',
    handle: async (request, response) => {
      const problem = access.problemOfPage(request, entrance);
      if (problem === undefined) await handler(request, response);
      else sendProblem(response, 403, 'Forbidden', problem);
    },
  };
}

function written({ by, action, target, detail, reason }: PageChange): string {
  return `${JSON.stringify(by)} used the page: ${action} ${JSON.stringify(target)} ${detail} (${JSON.stringify(reason)})`;
}
