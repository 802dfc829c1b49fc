import type { ForwardAuthRule } from '../config/configuration.ts';
import { PathPattern } from './path-pattern.ts';
import { foldCase, listReadings } from '@sluice/core/spi';

/** One pattern of a rule, which `route` in a key refers to. */
export interface RuleRoute {
  readonly rule: ForwardAuthRule;
  readonly pattern: PathPattern;
  /** Its place among the routes of all rules. */
  readonly index: number;
}

/** Represents the methods that no rule names. */
const OTHER = '';

/**
 * Finds the routes of requests. The first rule that matches decides. It is unknown how the upstream reads a path, so
 * each reading has a first rule, and all of these apply to the request.
 */
export class RouteTable {
  /** The routes of each method that rules name, in order. */
  readonly #byMethod: ReadonlyMap<string, readonly RuleRoute[]>;
  readonly #hasCapitals: boolean;

  constructor(rules: readonly ForwardAuthRule[]) {
    const routes = rules
      .flatMap((rule) => rule.match.paths.map((path) => ({ rule, pattern: new PathPattern(path) })))
      .map((route, index) => ({ ...route, index }));
    const named = new Set([OTHER, ...rules.flatMap(({ match }) => match.methods)]);
    const withMethod = (method: string): readonly RuleRoute[] =>
      routes.filter(({ rule: { match } }) => match.methods.length === 0 || match.methods.includes(method));
    const byMethod = new Map([...named].map((method) => [method, withMethod(method)]));
    // HEAD is GET, unless a rule names it.
    if (!named.has('HEAD')) byMethod.set('HEAD', byMethod.get('GET') ?? withMethod(OTHER));
    this.#byMethod = byMethod;
    this.#hasCapitals = routes.some(({ pattern }) => pattern.hasCapitals);
  }

  /**
   * The routes that apply to a request, except those of rules with `skip`.
   *
   * @param path - As the client wrote it, without a query.
   * @param method - The request's method; HEAD also counts as GET. Undefined: unknown.
   * @returns Undefined for a path that can be read in too many ways.
   */
  find(path: string, method: string | undefined): readonly RuleRoute[] | undefined {
    const readings = listReadings(path);
    if (readings === undefined) return undefined;
    const found: RuleRoute[] = [];
    const lists =
      method === undefined ? [...this.#byMethod.values()] : listSpellings(method).map((one) => this.#routesOf(one));
    for (const routes of lists) for (const reading of readings) this.#addFirst(found, routes, reading);
    return found.length < 2 ? found : found.sort((one, other) => one.index - other.index);
  }

  #routesOf(method: string): readonly RuleRoute[] {
    return this.#byMethod.get(method) ?? (this.#byMethod.get(OTHER) as readonly RuleRoute[]);
  }

  /** Adds the first route of a path, and the first one regardless of case. */
  #addFirst(found: RuleRoute[], routes: readonly RuleRoute[], path: string): void {
    add(
      found,
      routes.find(({ pattern }) => pattern.matches(path)),
    );
    const small = foldCase(path);
    if (small === path && !this.#hasCapitals) return;
    add(
      found,
      routes.find(({ pattern }) => pattern.matchesSmall(small)),
    );
  }
}

function add(found: RuleRoute[], route: RuleRoute | undefined): void {
  if (route !== undefined && !route.rule.skip && !found.includes(route)) found.push(route);
}

/** The methods that a method counts as: HEAD is also GET, and some upstreams accept lower case. */
function listSpellings(method: string): readonly string[] {
  if (method === 'HEAD') return ['HEAD', 'GET'];
  const capitals = method.toUpperCase();
  return capitals === method ? [method] : [method, ...listSpellings(capitals)];
}
