import type { ServerResponse } from 'node:http';
import { byAll, byHeader, byIp, byMethod, byRoute } from '@sluice/old-http';
import { answer, Enforcer, Layer, type Framework } from '@sluice/old-http/spi';
import { LimiterImpl, limitOfPolicy, type LimiterCore } from '@sluice/old-core/spi';
import type { ForwardAuthRule } from '../config/configuration.ts';
import { framework } from './framework.ts';
import type { OriginalRequest } from './original-request.ts';
import type { RuleRoute } from './route-table.ts';

type AuthLayer = Layer<OriginalRequest, ServerResponse>;
type AuthEnforcer = Enforcer<OriginalRequest, ServerResponse>;
type KeyPart = ReturnType<typeof byRoute<OriginalRequest>>;

/** Sets of routes whose enforcer is kept. A client that tries spellings finds few of them. */
const MOST_SETS = 256;

/** The limits of routes: what decides about the requests that are held to them. */
export class RouteLimits {
  readonly #core: LimiterCore;
  readonly #layers = new Map<RuleRoute, AuthLayer>();
  readonly #single = new Map<RuleRoute, AuthEnforcer>();
  readonly #sets = new Map<string, readonly AuthEnforcer[]>();

  /**
   * @param core - Decides. Its limits are told from those of other protocols by their keys, which begin with `auth`.
   */
  constructor(core: LimiterCore) {
    this.#core = core;
  }

  /**
   * Decides about a request and writes the header fields; if the request is denied, the whole answer.
   *
   * @param routes - At least one. Their limits are decided together; two that name one policy, one after the other.
   * @returns Whether the request is allowed.
   */
  limit(routes: readonly RuleRoute[], request: OriginalRequest, response: ServerResponse): boolean | Promise<boolean> {
    const [only] = routes;
    if (routes.length === 1 && only !== undefined) return this.#enforcerOf(only).limit(request, response);
    const enforcers = this.#enforcersOf(routes);
    const [first] = enforcers;
    return enforcers.length === 1 && first !== undefined
      ? first.limit(request, response)
      : limitInTurn(enforcers, request, response);
  }

  #enforcerOf(route: RuleRoute): AuthEnforcer {
    let enforcer = this.#single.get(route);
    if (enforcer === undefined) {
      enforcer = new Enforcer([this.#layerOf(route)], framework);
      this.#single.set(route, enforcer);
    }
    return enforcer;
  }

  #enforcersOf(routes: readonly RuleRoute[]): readonly AuthEnforcer[] {
    const set = routes.map(({ index }) => index).join();
    let enforcers = this.#sets.get(set);
    if (enforcers === undefined) {
      enforcers = decidable(routes.map((route) => this.#layerOf(route))).map(
        (layers) => new Enforcer(layers, framework),
      );
      if (this.#sets.size >= MOST_SETS) this.#sets.clear();
      this.#sets.set(set, enforcers);
    }
    return enforcers;
  }

  #layerOf(route: RuleRoute): AuthLayer {
    let layer = this.#layers.get(route);
    if (layer === undefined) {
      layer = layerOf(this.#core, route);
      this.#layers.set(route, layer);
    }
    return layer;
  }
}

function layerOf(core: LimiterCore, { rule, pattern }: RuleRoute): AuthLayer {
  const ofRoute: Framework<OriginalRequest, ServerResponse> = { ...framework, route: () => pattern.text };
  const limiter = new LimiterImpl<string>(core, limitOfPolicy(core, rule.policy));
  return new Layer(
    { limiter, key: [mark('auth'), mark(rule.name), ...rule.key.map(keyPart)], cost: rule.cost },
    ofRoute,
  );
}

/** A part that is the same in all keys of a rule. */
function mark(text: string): KeyPart {
  return { of: 'route', optional: false, read: () => text };
}

function keyPart(name: ForwardAuthRule['key'][number]): KeyPart {
  switch (name) {
    case 'ip':
      return byIp();
    case 'route':
      return byRoute();
    case 'method':
      return byMethod();
    case 'all':
      return byAll();
    default:
      return byHeader(name.slice('header:'.length));
  }
}

/** Splits layers into groups without two policies of one name, which one decision cannot hold. */
function decidable(layers: readonly AuthLayer[]): readonly (readonly AuthLayer[])[] {
  const groups: { readonly layers: AuthLayer[]; readonly names: Set<string> }[] = [];
  for (const layer of layers) {
    const names = layer.policyNames.map((name) => name.toLowerCase());
    let group = groups.find((one) => names.every((name) => !one.names.has(name)));
    if (group === undefined) groups.push((group = { layers: [], names: new Set() }));
    group.layers.push(layer);
    for (const name of names) group.names.add(name);
  }
  return groups.map((group) => group.layers);
}

/** Decides one after the other, until one denies. Units that earlier limits took stay taken. */
async function limitInTurn(
  enforcers: readonly AuthEnforcer[],
  request: OriginalRequest,
  response: ServerResponse,
): Promise<boolean> {
  let plan: Awaited<ReturnType<AuthEnforcer['enforce']>> | undefined;
  for (const enforcer of enforcers) {
    plan = await enforcer.enforce(request, response);
    if (plan.denial !== undefined || plan.isGone === true) break;
  }
  return plan === undefined || answer(framework, plan, request, response);
}
