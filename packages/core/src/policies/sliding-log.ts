import { slots } from '../program/slots.ts';
import { writeDuration, type Duration } from '../values/duration.ts';
import { duration, readOptions, type Field, type Options } from '../values/shape.ts';
import { units } from '../values/units.ts';
import {
  BLOCKING,
  commonFields,
  definePolicy,
  MAX_ENTRIES,
  NAMED,
  register,
  shareUnits,
  type Algorithm,
  type BlockForOption,
  type NameOption,
  type PolicyBase,
} from './rule.ts';

/** `limit` units in any interval of `windowMs`, each stored by its instant. */
export interface SlidingLogPolicy extends PolicyBase {
  readonly algorithm: 'slidingLog';
  readonly limit: number;
  readonly windowMs: number;
}

const INSTEAD = 'a slidingLog remembers every unit: use slidingWindow, which remembers a few numbers';

const SLIDING_LOG = {
  /** Units in any interval as long as the window: a whole number from 0 to 1000; 0 denies every request. */
  limit: units(0, MAX_ENTRIES, INSTEAD) as Field<number>,
  /** Length of the window. */
  window: duration() as Field<Duration, number>,
};

export interface SlidingLogOptions extends Options<typeof SLIDING_LOG>, BlockForOption, NameOption {}

/**
 * Allows at most `limit` units in **any** interval as long as the window, and never denies what fits: every unit is
 * available again exactly one window after it was consumed. The state has each instant at which units were consumed, at
 * most `limit` of them; denied units store nothing. {@link slidingWindow} has the same bound in constant memory, and
 * makes units of clients that keep asking available up to a tenth of the window later.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function slidingLog(options: SlidingLogOptions): SlidingLogPolicy {
  const shape = { ...SLIDING_LOG, ...BLOCKING, ...NAMED };
  const { limit, window, ...common } = readOptions(options, shape, 'slidingLog', 'SLUICE_POLICY_INVALID');
  const fields = { ...commonFields(common), limit, windowMs: window };
  return definePolicy(slidingLogAlgorithm, { algorithm: 'slidingLog', ...fields });
}

const slidingLogAlgorithm: Algorithm<SlidingLogPolicy> = /* @__PURE__ */ register({
  name: 'slidingLog',
  kind: 'g',
  family: slots,
  make: slidingLog,
  numbers: ({ limit, windowMs }) => [limit, 0, 0, windowMs],
  windowMs: ({ windowMs }) => windowMs,
  scale: ({ limit }, share) => ({ limit: shareUnits(limit, share) }),
  describe: ({ limit, windowMs }) => `slidingLog ${String(limit)} per ${writeDuration(windowMs)}`,
});
