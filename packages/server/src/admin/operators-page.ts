import type { IncomingMessage } from 'node:http';
import type { LimitEvent } from '@sluice/core';
import { findConnection } from '@sluice/core/spi';
import { page } from '@sluice/page';
import type { Settings } from '../options.ts';
import type { Service } from '../service.ts';
import { isLocal } from '../transport/address.ts';
import type { Route } from '../transport/http.ts';

/** The resources of the page, below `/`. */
const RESOURCES = ['', 'live', 'snapshot', 'key', 'block', 'unblock', 'reset', 'override', 'end-override'];

/** The operators' page of a service, whose limits it shows. */
export interface ServedPage {
  readonly routes: readonly Route[];
  /** Stops counting. */
  close(): Promise<void>;
}

/**
 * The page on the operators' listener: for everything on this machine if the listener is private, otherwise for callers
 * with the token. Undefined if there is no such listener. Counts from now on.
 */
export function makeOperatorsPage(
  service: Service,
  { listeners: { admin }, token, log }: Pick<Settings, 'listeners' | 'token' | 'log'>,
): ServedPage | undefined {
  if (admin === undefined) return undefined;
  const entrance = { isPrivate: isLocal(admin) };
  const handler = page<IncomingMessage>({
    ...(entrance.isPrivate ? { authorize: () => true } : { token }),
    share: findConnection(service.core.store) !== undefined, // memory is this process alone
    limiters: [service.core],
    log: (change) => {
      log(write(change));
    },
  });
  const routes = RESOURCES.map((name): Route => {
    return {
      path: `/${name}`,
      check: (request) => {
        service.access.check(request, entrance, false);
      },
      handle: async (request, response) => {
        await handler(request, response);
      },
    };
  });
  return { routes, close: () => handler.close() };
}

function write({ by, what, limit, key, before, after, reason }: LimitEvent): string {
  const change = [before, after].filter((one) => one !== null).join(' -> ');
  const target = JSON.stringify(`${String(key)} of ${limit}`);
  return `${JSON.stringify(by)} used the page: ${what} ${target} ${change} (${JSON.stringify(reason)})`;
}
