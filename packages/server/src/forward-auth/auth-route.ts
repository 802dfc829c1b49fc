import type { IncomingMessage, ServerResponse } from 'node:http';
import { warnOnce } from '@sluice/core/spi';
import type { Configuration } from '../config/configuration.ts';
import type { Service } from '../service.ts';
import type { Clients } from '../transport/clients.ts';
import type { Route } from '../transport/http.ts';
import { RequestProblem } from '../transport/request-problem.ts';
import { readOriginal } from './original-request.ts';
import { RouteLimits } from './route-limits.ts';
import { RouteTable } from './route-table.ts';

/** The forward auth part of a configuration. */
interface Rules {
  readonly configuration: Configuration;
  readonly table: RouteTable;
  readonly limits: RouteLimits;
}

const NO_STORE = { 'cache-control': 'no-store' };
/**
 * 403 for all of them: nginx passes it on, and no gateway mistakes it for a failed service, whose requests it may be
 * configured to forward.
 */
const DETAILS = {
  'not trusted':
    'the gateway is not in the trusted_proxies of forward_auth, so it is not trusted; add its address there',
  contradiction:
    'fields about the original request contradict each other, such as X-Forwarded-Uri and X-Original-URI, or X-Forwarded-For and X-Real-IP; a gateway removes those that it does not write itself',
  'no target': 'the gateway does not state the original target; it must send X-Forwarded-Uri or X-Original-URI',
  unreadable: 'the path can be read in too many ways',
};

/**
 * Forward auth for gateways: nginx's `auth_request`, Caddy's `forward_auth`, ForwardAuth of Traefik, HAProxy, and
 * Envoy's ext_authz with the path prefix `/auth`. Answers 200, or 429 for a request over its limit, both with our
 * fields; 503 if the store failed and `onStoreError` denies. Follows the service's configuration.
 */
export function authRoutes(service: Service, clients: Clients): readonly Route[] {
  let rules: Rules | undefined;
  /** A request in progress keeps the rules it began with. */
  const readRules = (): Rules => {
    const { configuration, core } = service;
    const { forwardAuth } = configuration;
    if (forwardAuth === undefined) throw new RequestProblem(404, 'the configuration has no forward_auth');
    if (rules?.configuration !== configuration) {
      rules = { configuration, table: new RouteTable(forwardAuth.rules), limits: new RouteLimits(core) };
    }
    return rules;
  };
  const handle = async (asked: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { table, limits } = readRules();
    const original = readOriginal(asked, clients.gateways);
    if (original === 'not trusted') warnAboutProxy(asked.socket.remoteAddress);
    if (typeof original === 'string') throw forbidden(original);
    const routes = table.find(original.path, original.statedMethod);
    if (routes === undefined) throw forbidden('unreadable');
    if (!original.namesClient && routes.some(({ rule }) => rule.key.includes('ip'))) warnAboutAddress(original.address);
    if (routes.length === 0 || (await limits.limit(routes, original, response))) response.end();
  };
  return [
    { path: '/auth', handle },
    { path: '/auth/', handle },
  ];
}

function forbidden(why: keyof typeof DETAILS): RequestProblem {
  return new RequestProblem(403, DETAILS[why], {}, NO_STORE);
}

function warnAboutAddress(gateway: string): void {
  const what = `the gateway ${gateway} sends neither X-Forwarded-For nor X-Real-IP with the requests that it asks about`;
  const effect = 'all its clients share one budget in limits by address. Make it send the address of the client.';
  warnOnce('SLUICE_PROXY_NOT_TRUSTED', `${what}: ${effect}`, 'forward_auth address');
}

function warnAboutProxy(peer: string | undefined): void {
  if (peer === undefined) return;
  const what = `${peer} asks for forward auth but is not in trusted_proxies, so it is not trusted`;
  const instead = 'If it is your gateway, add its address there.';
  warnOnce('SLUICE_PROXY_NOT_TRUSTED', `${what}: it gets 403. ${instead}`, 'forward_auth');
}
