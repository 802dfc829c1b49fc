import { CORE_OPTIONS } from '../core-options.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import { PolicyError, shown } from '../errors.ts';
import { isManagedReference } from '../managed/managed.ts';
import { handedIn } from './asked-limits.ts';
import type { Framework } from './framework.ts';
import { Layer } from './layer.ts';
import type { RateLimitOptions } from './options.ts';

/** The options of a place that may have no limit of its own, and only says what those inside it take over. */
export type ScopeOptions<Request, Response> =
  | RateLimitOptions<Request, Response>
  | (Omit<RateLimitOptions<Request, Response>, LimitOption | 'limits'> & { [Name in LimitOption | 'limits']?: never });

type LimitOption = 'limit' | 'window' | 'policy' | 'limiter';

const LIMIT_OPTIONS = ['limit', 'window', 'policy', 'limits', 'limiter'] as const;
/** Where and how requests are decided about: all that a limiter's core is told, but for what it is called. */
const OF_THE_STORE: readonly string[] = CORE_OPTIONS.filter(
  // Whose limit it is, is whose refusals count, and who knows whether slices of it can be taken.
  (name) => name !== 'name' && name !== 'shared' && name !== 'escalate' && name !== 'lease',
);
/** How requests are decided about and answered; never what the limit is, its name, its cost or its refunds. */
const TAKEN_OVER: readonly string[] = [
  ...OF_THE_STORE,
  ...['skip', 'allow', 'deny', 'mode', 'headers', 'cors', 'maxHeld', 'retryAfter', 'onDenied', 'onDecision', 'throw'],
];
/** Who is counted: taken over together, by a limit that says nothing of either. */
const OF_THE_KEY: readonly string[] = ['key', 'onMissingKey'];

/** Whether options say a limit of their own. */
export function hasLimit(options: object): boolean {
  return LIMIT_OPTIONS.some((name) => (options as Readonly<Record<string, unknown>>)[name] !== undefined);
}

/** The options of an outermost scope, with the store that all within it take over. */
export function outermost<Options extends object>(options: Options): Options {
  const { store, limiter } = options as { store?: unknown; limiter?: unknown };
  return store === undefined && limiter === undefined ? { ...options, store: memoryStore() } : options;
}

/**
 * The options of a place inside another: where it says nothing, it decides, counts and answers as that one does. What
 * the limit is, it says itself.
 */
export function inheritOptions<Options extends object>(outer: object, inner: Options): Options {
  const from = outer as Readonly<Record<string, unknown>>;
  const own = inner as Readonly<Record<string, unknown>>;
  const taken: Record<string, unknown> = {};
  for (const name of TAKEN_OVER) {
    if (own['limiter'] !== undefined && OF_THE_STORE.includes(name)) continue;
    if (from[name] !== undefined) taken[name] = from[name];
  }
  if (own['limiter'] === undefined && from['limiter'] !== undefined)
    taken['store'] = handedIn(from['limiter']).core.store;
  if (own['limits'] === undefined && OF_THE_KEY.every((name) => own[name] === undefined)) {
    for (const name of OF_THE_KEY) if (from[name] !== undefined) taken[name] = from[name];
  }
  // A share is one of what this process admits: where that is nothing, or all, the outer one's has no sense.
  if (own['onStoreError'] !== undefined && own['onStoreError'] !== 'local') delete taken['localShare'];
  // Who answers by itself does not throw because the outer one would.
  if (own['onDenied'] !== undefined) delete taken['throw'];
  const said = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  return { ...taken, ...said } as Options;
}

/**
 * Checks the options of a place before it is known what they take over and how they are named, so that mistakes are told
 * where they are made. Takes no name on a store.
 *
 * @param mayBeEmpty - Whether the place may say no limit, but only what those inside it take over.
 * @throws PolicyError for bad or unknown options.
 */
export function checkPlace<Request, Response>(
  options: unknown,
  framework: Framework<Request, Response>,
  ownOptions: readonly string[],
  mayBeEmpty = false,
): void {
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) {
    const { override } = options as { readonly override?: unknown };
    if (override !== undefined && typeof override !== 'boolean') {
      throw new PolicyError(
        'override',
        `override must be true or false, got ${shown(override)}`,
        'SLUICE_OPTION_INVALID',
      );
    }
    if (mayBeEmpty && !hasLimit(options)) options = { ...options, limit: 1, window: 1 };
    options = withoutManaged(options as object);
  }
  new Layer(options as RateLimitOptions<Request, Response>, framework, ownOptions);
}

/** Which application this is, and where its policies are looked up, may be what the place takes over. */
function withoutManaged(options: object): object {
  const { policy, limits } = options as { readonly policy?: unknown; readonly limits?: unknown };
  const plain = { limit: 1, windowMs: 1, algorithm: 'fixedWindow', align: 'first-hit' };
  const instead = (given: unknown): unknown => (isManagedReference(given) ? plain : given);
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
