import type { IncomingMessage, ServerResponse } from 'node:http';
import { SluiceError } from '@sluice/old-core';
import { TrustedProxies } from '@sluice/old-http/spi';
import { warnOnce } from '@sluice/old-core/spi';
import type { Configuration, ForwardAuthSettings } from '../config/configuration.ts';
import { sendProblem } from '../transport/send.ts';
import type { Service } from '../service.ts';
import { methodsOf } from './methods.ts';
import { readOriginal, type Unusable } from './original-request.ts';
import { peerOf } from './peer.ts';
import { RouteLimits } from './route-limits.ts';
import { RouteTable } from './route-table.ts';

/** Answers gateways that ask whether to forward a request. */
export interface ForwardAuth {
  /**
   * Answers 200, or 429 for a request over its limit, both with our fields; 503 where a store that failed decides to
   * deny. A body is not read. Never throws.
   */
  handle(request: IncomingMessage, response: ServerResponse): void;
}

/** The forward auth part of a configuration. */
interface Rules {
  readonly configuration: Configuration;
  readonly proxies: TrustedProxies;
  readonly table: RouteTable;
  readonly limits: RouteLimits;
}

/**
 * Forward auth for gateways: nginx's `auth_request`, Caddy's `forward_auth`, ForwardAuth of Traefik, HAProxy, and
 * Envoy's ext_authz with the path prefix `/auth`. Follows the configuration of the service.
 */
export function createForwardAuth(service: Service): ForwardAuth {
  return new ConfiguredForwardAuth(service);
}

class ConfiguredForwardAuth implements ForwardAuth {
  readonly #service: Service;
  #rules: Rules | undefined;

  constructor(service: Service) {
    this.#service = service;
  }

  handle(asked: IncomingMessage, response: ServerResponse): void {
    try {
      const allowed = this.#decide(asked, response);
      if (allowed === true) response.end();
      else if (allowed !== false) allowed.then(finish).catch(fail);
    } catch (error) {
      fail(error);
    }
    function finish(late: boolean): void {
      if (late) response.end();
    }
    function fail(error: unknown): void {
      sendFailure(response, error);
    }
  }

  /** Whether a request is allowed. One that is not has its answer. */
  #decide(asked: IncomingMessage, response: ServerResponse): boolean | Promise<boolean> {
    const rules = this.#current();
    if (rules === undefined) {
      sendProblem(response, 404, 'Not Found', 'the configuration has no forward_auth');
      return false;
    }
    const original = readOriginal(asked, rules.proxies);
    if (typeof original === 'string') return deny(asked, response, original);
    const routes = rules.table.find(original.path, methodsOf(original));
    if (routes === undefined) return deny(asked, response, 'unreadable');
    return routes.length === 0 || rules.limits.limit(routes, original, response);
  }

  /** The rules of the current configuration. A request that is being decided keeps those it began with. */
  #current(): Rules | undefined {
    const { configuration, core } = this.#service;
    const { forwardAuth } = configuration;
    if (forwardAuth === undefined) return undefined;
    if (this.#rules?.configuration !== configuration) {
      this.#rules = { configuration, ...parsed(forwardAuth), limits: new RouteLimits(core) };
    }
    return this.#rules;
  }
}

const NO_STORE = { 'cache-control': 'no-store' };

function parsed({ trustedProxies, rules }: ForwardAuthSettings): Pick<Rules, 'proxies' | 'table'> {
  return { proxies: new TrustedProxies(trustedProxies, 'trusted_proxies'), table: new RouteTable(rules) };
}

/**
 * 403 for all of them: nginx passes it on, and no gateway takes it for a service that failed, whose requests it may be
 * told to forward.
 */
const DETAILS: Readonly<Record<Unusable | 'unreadable', string>> = {
  'not trusted':
    'the gateway that asks is not among the trusted_proxies of forward_auth, so that nothing it states is believed; add its address there',
  contradiction:
    'fields about the original request contradict each other, such as X-Forwarded-Uri and X-Original-URI, or X-Forwarded-For and X-Real-IP; a gateway removes those that it does not write itself',
  'no target': 'the gateway does not state the original target; it must send X-Forwarded-Uri or X-Original-URI',
  unreadable: 'the path can be read in too many ways',
};

function deny(asked: IncomingMessage, response: ServerResponse, why: Unusable | 'unreadable'): false {
  if (why === 'not trusted') warnOfProxy(peerOf(asked.socket));
  sendProblem(response, 403, 'Forbidden', DETAILS[why], NO_STORE);
  return false;
}

function warnOfProxy(peer: string | undefined): void {
  if (peer === undefined) return;
  warnOnce(
    'SLUICE_PROXY_NOT_TRUSTED',
    `${peer} asks for forward auth and is not among trusted_proxies, so that nothing it states is believed: it gets 403. If it is a gateway of yours, add its address there.`,
    'forward_auth',
  );
}

/**
 * Answers where nothing was decided: `onStoreError` is `throw`, or the core is closed; anything else is a mistake of
 * ours.
 */
function sendFailure(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
  } else if (error instanceof SluiceError) {
    sendProblem(response, 503, 'Service Unavailable', 'the rate limiter cannot decide', NO_STORE);
  } else {
    sendProblem(response, 500, 'Internal Server Error', 'the service failed to answer', NO_STORE);
  }
}
