import { PolicyError } from '../errors.ts';
import { readOptions } from '../values/shape.ts';
import { LimiterCore } from './core.ts';
import type {
  KeysOf,
  Limiter,
  LimiterOptions,
  LimitsLimiterOptions,
  ShortLimiterOptions,
  SingleLimiterOptions,
} from './limiter.ts';
import { asGiven, readLimits, readPolicy, type KeyByLimit, type LimitOptions } from './limits.ts';
import { LIMITER } from './options.ts';

/** The options of `createLimiter` in addition to {@link LimiterCoreOptions}. */
const POLICIES = { limit: asGiven, window: asGiven, policy: asGiven, limits: asGiven };

/**
 * Creates a limiter. Costs nothing until it is first used.
 *
 * @example
 * ```ts
 * const limiter = createLimiter({ limit: 5, window: '1m' });
 * const { allowed, retryAfterMs } = await limiter.consume('user-42');
 * ```
 *
 * @throws PolicyError naming the field, what was expected and what was given; `SLUICE_OPTION_UNKNOWN` for an option
 * that does not exist; `SLUICE_LIMITER_NAME_TAKEN` for a second limiter with the same name on the same store, unless
 * both set `shared`.
 */
export function createLimiter(options: SingleLimiterOptions | ShortLimiterOptions): Limiter;
export function createLimiter<const Limits extends readonly LimitOptions[]>(
  options: LimitsLimiterOptions<Limits>,
): Limiter<KeysOf<Limits>>;
export function createLimiter(options: LimiterOptions): Limiter | Limiter<KeyByLimit>;
export function createLimiter(options: LimiterOptions): Limiter | Limiter<KeyByLimit> {
  const shape = { ...POLICIES, ...LIMITER };
  const { limit, window, policy, limits, ...settings } = readOptions(options, shape, 'createLimiter');
  const core = new LimiterCore(settings);
  if (limits !== undefined && (policy ?? limit ?? window) !== undefined) {
    throw new PolicyError(
      'limits',
      'createLimiter takes limits, or policy, or limit and window, got more than one of these',
    );
  }
  core.limits =
    limits === undefined
      ? core.limitFor(readPolicy({ policy, limit, window }, 'createLimiter', 'or limits'))
      : readLimits(limits, core);
  core.claim();
  return core;
}
