import { CORE_OPTIONS, isReference } from '@sluice/old-core/spi';
import { memoryStore } from '@sluice/old-core';
import { LIMIT_OPTIONS, handedIn } from './http-limits.ts';
import type { Framework } from './framework.ts';
import { Layer } from './layer.ts';
import { INHERITED_OPTIONS } from './options.ts';
import type { RateLimitOptions } from './option-types.ts';

/** The options of a place that may have no limit of its own, and then only sets what places inside it inherit. */
export type ScopeOptions<Request, Response> =
  | RateLimitOptions<Request, Response>
  | (Omit<RateLimitOptions<Request, Response>, LimitOption | 'limits'> & { [Name in LimitOption | 'limits']?: never });

type LimitOption = 'limit' | 'window' | 'policy' | 'limiter';

/** The options of the limiter's core that a nested place inherits. */
const INHERITED_CORE_OPTIONS: readonly string[] = CORE_OPTIONS.filter(
  // A name belongs to one limit, and so do the denials that `escalate` counts.
  (name) => name !== 'name' && name !== 'shared' && name !== 'escalate',
);
/** How requests are decided and answered; not the limit, its name, its cost or its refunds. */
const INHERITED: readonly string[] = [...INHERITED_CORE_OPTIONS, ...INHERITED_OPTIONS];
/** Inherited together, by a limit that sets neither. */
const KEY_OPTIONS: readonly string[] = ['key', 'onMissingKey'];

/** Whether options define a limit. */
export function hasLimit(options: object): boolean {
  return LIMIT_OPTIONS.some((name) => (options as Readonly<Record<string, unknown>>)[name] !== undefined);
}

/** The options of an outermost scope, with the store that all places inside it inherit. */
export function outermost<Options extends object>(options: Options): Options {
  const { store, limiter } = options as { store?: unknown; limiter?: unknown };
  return store === undefined && limiter === undefined ? { ...options, store: memoryStore() } : options;
}

/**
 * The options of a place inside another: it inherits how requests are decided, counted and answered, unless it sets
 * these options itself. It never inherits the limit.
 */
export function inheritOptions<Options extends object>(outer: object, inner: Options): Options {
  const from = outer as Readonly<Record<string, unknown>>;
  const own = inner as Readonly<Record<string, unknown>>;
  const inherited: Record<string, unknown> = {};
  for (const name of INHERITED) {
    if (own['limiter'] !== undefined && INHERITED_CORE_OPTIONS.includes(name)) continue;
    if (from[name] !== undefined) inherited[name] = from[name];
  }
  if (own['limiter'] === undefined && from['limiter'] !== undefined)
    inherited['store'] = handedIn(from['limiter']).core.store;
  if (own['limits'] === undefined && KEY_OPTIONS.every((name) => own[name] === undefined)) {
    for (const name of KEY_OPTIONS) if (from[name] !== undefined) inherited[name] = from[name];
  }
  // `localShare` has no meaning without `onStoreError: 'local'`.
  if (own['onStoreError'] !== undefined && own['onStoreError'] !== 'local') delete inherited['localShare'];
  // An own `onDenied` takes precedence over an inherited `throw`, which would bypass it.
  if (own['onDenied'] !== undefined) delete inherited['throw'];
  const defined = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  return { ...inherited, ...defined } as Options;
}

/**
 * Checks the options of a place before its inherited options and its name are known, so that an error points to the
 * line with the mistake. Takes no name on a store.
 *
 * @param mayBeEmpty - Whether the place may have no limit, and only set what places inside it inherit.
 * @throws PolicyError for bad or unknown options.
 */
export function checkPlace<Request, Response>(
  options: unknown,
  framework: Framework<Request, Response>,
  ownOptions: readonly string[],
  mayBeEmpty = false,
): void {
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) {
    if (mayBeEmpty && !hasLimit(options)) options = { ...options, limit: 1, window: '1ms' };
    options = withoutReferences(options as object);
  }
  new Layer(options as RateLimitOptions<Request, Response>, framework, ownOptions);
}

/** The options without references: what those need, such as `app` and `policies`, may be inherited. */
function withoutReferences(options: object): object {
  const { policy, limits } = options as { readonly policy?: unknown; readonly limits?: unknown };
  const plainPolicy = { limit: 1, windowMs: 1, algorithm: 'fixedWindow', align: 'first-hit' };
  const instead = (given: unknown): unknown => (isReference(given) ? plainPolicy : given);
  const isEntry = (entry: unknown): entry is object => typeof entry === 'object' && entry !== null && 'policy' in entry;
  return {
    ...options,
    ...(policy === undefined ? {} : { policy: instead(policy) }),
    ...(Array.isArray(limits)
      ? {
          limits: limits.map((entry: unknown) =>
            isEntry(entry) ? { ...entry, policy: instead((entry as { policy: unknown }).policy) } : entry,
          ),
        }
      : {}),
  };
}

/** Options with their place in the code as their name, unless they have a name or a `limiter`, which has its own. */
export function namedByPlace<Options extends { limiter?: unknown; name?: string | undefined }>(
  options: Options,
  place: string,
): Options {
  return options.limiter === undefined ? { ...options, name: options.name ?? place } : options;
}
