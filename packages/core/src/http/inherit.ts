import { memoryStore } from '../stores/memory/memory-store.ts';
import { handedIn } from './asked-limits.ts';
import type { RateLimitOptions } from './options.ts';

/** The options of a place that may have no limit of its own, and only says what those inside it take over. */
export type ScopeOptions<Request, Response> =
  | RateLimitOptions<Request, Response>
  | (Omit<RateLimitOptions<Request, Response>, LimitOption | 'limits'> & { [Name in LimitOption | 'limits']?: never });

type LimitOption = 'limit' | 'window' | 'policy' | 'limiter';

const LIMIT_OPTIONS = ['limit', 'window', 'policy', 'limits', 'limiter'] as const;
/** How requests are decided about and answered; never what the limit is, its name, its cost or its refunds. */
const TAKEN_OVER = [
  ...['store', 'onStoreError', 'timeoutMs', 'skip', 'allow', 'deny', 'mode', 'headers', 'cors', 'onDenied'],
  ...['onDecision', 'throw'],
] as const;
const OF_THE_STORE: readonly string[] = ['store', 'onStoreError', 'timeoutMs'];
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
  // Who answers by itself does not throw because the outer one would.
  if (own['onDenied'] !== undefined) delete taken['throw'];
  const said = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  return { ...taken, ...said } as Options;
}
