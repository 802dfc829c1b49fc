import type { ServerResponse } from 'node:http';
import {
  byAll,
  byHeader,
  byIp,
  byMethod,
  byRoute,
  Place,
  RequestLimiter,
  type Framework,
  type KeyReader,
} from '@sluice/core/http';
import type { LimiterCore } from '@sluice/core/spi';
import type { ForwardAuthRule } from '../config/configuration.ts';
import type { OriginalRequest } from './original-request.ts';
import type { RuleRoute } from './route-table.ts';

/** Reads what a gateway asks about, and writes the answer to the gateway. The route of a request is that of its rule. */
const framework: Framework<OriginalRequest, ServerResponse> = {
  address: (request) => request.address,
  method: (request) => request.method,
  route: () => undefined,
  header: (request, name) => request.headers[name],
  user: () => undefined,
  // It has no `rawHeaders`: what the gateway states is not a sign of an untrusted proxy.
  rawRequest: (request) => request,
  locals: (request) => request,
  rawResponse: (response) => response,
  getHeader: (response, name) => response.getHeader(name),
  setHeader: (response, name, value) => {
    response.setHeader(name, value);
  },
  removeHeader: (response, name) => {
    response.removeHeader(name);
  },
  setStatus: (response, status) => {
    response.statusCode = status;
  },
  send: (response, body) => {
    response.end(body);
  },
};

/** How many sets of routes have their limiters kept. A client that tries spellings finds few of them. */
const MAX_SETS = 256;

/** The limits of routes, which decide about the requests that they apply to. */
export class RouteLimits {
  readonly #core: LimiterCore;
  readonly #places = new Map<RuleRoute, Place>();
  readonly #sets = new Map<string, RequestLimiter>();

  /**
   * @param core - Decides. Keys of forward auth begin with `auth`, to distinguish them from those of other protocols.
   */
  constructor(core: LimiterCore) {
    this.#core = core;
  }

  /**
   * Decides about a request, over the limits of all routes together, and writes the header fields; if the request is
   * denied, the whole response.
   *
   * @param routes - At least one.
   * @returns Whether the request is allowed.
   */
  limit(routes: readonly RuleRoute[], request: OriginalRequest, response: ServerResponse): boolean | Promise<boolean> {
    const set = routes.map(({ index }) => index).join();
    let limiter = this.#sets.get(set);
    if (limiter === undefined) {
      if (this.#sets.size >= MAX_SETS) this.#sets.clear();
      this.#sets.set(set, (limiter = this.#makeLimiter(routes)));
    }
    return limiter.limit(request, response);
  }

  #makeLimiter(routes: readonly RuleRoute[]): RequestLimiter {
    const places = routes.map((route) => this.#findPlace(route));
    const limits = places.flatMap((place, i) =>
      place.limits.map((limit) => ({ ...limit, name: `${limit.name} ${String(i)}` })),
    );
    const { core, name, settings, paced } = places[0] as Place;
    return new RequestLimiter([{ core, name, settings, paced, limits, hasOneKey: false }], framework);
  }

  #findPlace(route: RuleRoute): Place {
    let place = this.#places.get(route);
    if (place === undefined) this.#places.set(route, (place = makePlace(this.#core, route)));
    return place;
  }
}

function makePlace(core: LimiterCore, { rule, pattern }: RuleRoute): Place {
  const limiter = { core, limit: rule.limit } as never;
  const key = [mark('auth'), mark(rule.name), ...rule.key.map(readPart)];
  return new Place({ limiter, key, cost: rule.cost }, { ...framework, route: () => pattern.text });
}

/** A constant part of all keys of a rule. */
function mark(text: string): KeyReader<OriginalRequest> {
  return { of: 'route', optional: false, read: () => text };
}

function readPart(name: ForwardAuthRule['key'][number]): KeyReader<OriginalRequest> {
  if (name === 'ip') return byIp();
  if (name === 'route') return byRoute();
  if (name === 'method') return byMethod();
  if (name === 'all') return byAll();
  return byHeader(name.slice('header:'.length));
}
