import { PolicyError } from '../errors.ts';
import { checkNames } from '../values/shape.ts';
import { LIMIT_NAMES, LIMITER_NAMES, OPTION_NAMES, SHARED_NAMES, type RateLimitOptions } from './options.ts';
import { readHanded } from './place.ts';

type LimitOption = 'limit' | 'window' | 'policy' | 'limits' | 'limiter';

/** The options of a place that may have no limit of its own: then it only sets what the places inside it inherit. */
export type ScopeOptions<Request, Response> =
  | RateLimitOptions<Request, Response>
  | (Omit<RateLimitOptions<Request, Response>, LimitOption> & { [Name in LimitOption]?: never });

/** Options that belong to one limit: its name and its refunds. */
const OWN: readonly string[] = ['name', 'shared', 'refund'];
const INHERITED = [...LIMITER_NAMES, ...SHARED_NAMES].filter((name) => !OWN.includes(name));
/** Inherited together, by a limit that sets neither. */
const KEY_NAMES: readonly string[] = ['key', 'onMissingKey'];

/** Whether options define a limit. */
export function hasLimit(options: object): boolean {
  return LIMIT_NAMES.some((name) => (options as Readonly<Record<string, unknown>>)[name] !== undefined);
}

/**
 * The options of a place inside another. It inherits how requests are decided, counted and answered, unless it sets
 * these options itself; it never inherits the limit.
 *
 * @param inner - The user's options, unchecked.
 * @param ownOptions - Names of further options, which the adapter itself reads. They are inherited too.
 * @throws PolicyError for unknown options, which would otherwise be lost. The {@link Place} that inherits a bad value
 * reports it.
 */
export function inheritOptions<Options extends object>(
  outer: object,
  inner: Options,
  ownOptions: readonly string[] = [],
): Options {
  checkNames(inner, [...OPTION_NAMES, ...ownOptions], 'rateLimit');
  const from = outer as Readonly<Record<string, unknown>>;
  const own = inner as Readonly<Record<string, unknown>>;
  const isHanded = own['limiter'] !== undefined;
  const names = INHERITED.filter((name) => !isHanded || !LIMITER_NAMES.includes(name)).concat(ownOptions);
  if (own['limits'] === undefined && KEY_NAMES.every((name) => own[name] === undefined)) names.push(...KEY_NAMES);
  const inherited: Record<string, unknown> = {};
  for (const name of names) if (from[name] !== undefined) inherited[name] = from[name];
  if (!isHanded && from['limiter'] !== undefined) inherited['store'] = readHanded(from['limiter']).core.store;
  // `localShare` has no meaning without `onStoreError: 'local'`.
  if (own['onStoreError'] !== undefined && own['onStoreError'] !== 'local') delete inherited['localShare'];
  // The place's own `onDenied` takes precedence over an inherited `throw`, which would bypass it.
  if (own['onDenied'] !== undefined) delete inherited['throw'];
  const defined = Object.entries(own).filter(([, value]) => value !== undefined);
  return { ...inherited, ...Object.fromEntries(defined) } as Options;
}

/**
 * Options with their place in the code as their name, such as `Orders.list`, unless they have a name or a `limiter`, which
 * has its own.
 */
export function namedByPlace<Options extends { limiter?: unknown; name?: string | undefined }>(
  options: Options,
  place: string,
): Options {
  if (options.limiter !== undefined || options.name !== undefined) return options;
  const name = place.replace(/[^A-Za-z0-9._-]/g, '-').replace(/^[^A-Za-z]+/, '');
  return { ...options, name: name === '' ? 'handler' : name.slice(0, 64) };
}

/** The code at the end of a message, which the new error adds again. */
const CODE = / \[SLUICE_\w+\]$/;

/**
 * Runs work so that errors about options begin with their place, such as `config.rateLimit of GET /orders`, because
 * their stack does not show it.
 *
 * @throws PolicyError with the place in its message; anything else as it is.
 */
export function atPlace<T>(place: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PolicyError) || error.message.includes(place)) throw error;
    const message = error.message.replace(CODE, '');
    const told = message.startsWith('rateLimit ') ? message.replace('rateLimit', '') : `: ${message}`;
    throw new PolicyError(error.field, `${place}${told}`, error.code);
  }
}
