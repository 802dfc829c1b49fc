import { PolicyError } from '@sluice/core';
import { shown, CORE_OPTIONS, checkOptions, invalidOption, parseDuration } from '@sluice/core/spi';
import { ClientList } from './client-list.ts';
import { isForAll } from './keys/key-parts.ts';
import { PacedRequests } from './lifecycle/paced-requests.ts';
import type { PerLimitOptions, RateLimitOptions, RefundOptions, RefundWhen, SharedOptions } from './option-types.ts';
import { DENIAL_STATUSES, type DenialStatuses } from './response/denial.ts';
import { fieldWriter, type FieldWriter } from './response/headers.ts';

type LimitOption = 'limit' | 'window' | 'policy' | 'limits' | 'limiter';
type HttpOption = LimitOption | keyof SharedOptions<never, never> | keyof PerLimitOptions<never>;
/** Throws PolicyError for a bad value. */
type Check = (value: unknown, field: string) => void;

/** Longer timers overflow to 1 ms. */
const LONGEST_SLOT_MS = 2 ** 31 - 1;
/** A client that never reads its response holds a slot no longer than this. */
const DEFAULT_MAX_SLOT_MS = 600_000;

const aFunction = checkThat((value) => typeof value === 'function', 'a function');
const aBoolean = checkThat((value) => typeof value === 'boolean', 'true or false');
const aMode = checkThat((value) => value === 'enforce' || value === 'report', '"enforce" or "report"');
const aPreflightMode = checkThat(
  (value) => value === 'separate' || value === 'count' || value === 'skip',
  '"separate", "count" or "skip"',
);
const aStatus = checkThat(
  (value) => Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599,
  'a whole number from 400 to 599',
);
const aRefundRule = checkThat(
  (value) => typeof value === 'function' || value === 'on-success' || value === 'on-failure',
  '"on-success", "on-failure" or a function of request and response',
);
const aSlotTime = checkThat(
  (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= LONGEST_SLOT_MS,
  `a whole number of milliseconds, from 1 to ${String(LONGEST_SLOT_MS)}`,
);
const aPacedCount = checkThat(
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  'a whole number of requests, at least 0',
);
/** The checks of `onMissingKey` and `cost`, which stand in the options and in each entry of `limits`. */
export const aMissingKeyMode: Check = checkThat(
  (value) => value === 'deny' || value === 'skip' || value === 'shared',
  '"deny", "skip" or "shared"',
);
export const aCost: Check = checkThat(
  (value) => typeof value === 'function' || (Number.isSafeInteger(value) && (value as number) >= 1),
  'a whole number, at least 1, or a function of the request',
);
/** Checked together with the policies, after all other checks of this table: see `parseLimits`. */
const WITH_LIMITS = undefined;
/** Checked when it is parsed, after the limits: see {@link parseHttpOptions}. */
const WHEN_PARSED = undefined;

/**
 * Every option of `rateLimit` but those of its limiter ({@link CORE_OPTIONS}): its check, and whether a place inside
 * another inherits it from there.
 */
const OPTIONS: Readonly<Record<HttpOption, { readonly check: Check | undefined; readonly inherited: boolean }>> = {
  limit: { check: WITH_LIMITS, inherited: false },
  window: { check: WITH_LIMITS, inherited: false },
  policy: { check: WITH_LIMITS, inherited: false },
  limits: { check: WITH_LIMITS, inherited: false },
  limiter: { check: WITH_LIMITS, inherited: false },
  skip: { check: aFunction, inherited: true },
  allow: { check: WHEN_PARSED, inherited: true },
  deny: { check: WHEN_PARSED, inherited: true },
  mode: { check: aMode, inherited: true },
  headers: { check: WHEN_PARSED, inherited: true },
  cors: { check: aBoolean, inherited: true },
  refund: { check: WHEN_PARSED, inherited: false },
  maxPaced: { check: WHEN_PARSED, inherited: true },
  retryAfter: { check: WHEN_PARSED, inherited: true },
  maxSlotMs: { check: aSlotTime, inherited: true },
  onDenied: { check: aFunction, inherited: true },
  onDecision: { check: aFunction, inherited: true },
  throw: { check: aBoolean, inherited: true },
  status: { check: WHEN_PARSED, inherited: true },
  preflights: { check: aPreflightMode, inherited: true },
  // Inherited together, by a limit that sets neither: see `inheritOptions`.
  key: { check: WITH_LIMITS, inherited: false },
  cost: { check: WITH_LIMITS, inherited: false },
  onMissingKey: { check: WITH_LIMITS, inherited: false },
};

const HTTP_OPTIONS = Object.keys(OPTIONS) as readonly HttpOption[];
export const LIMIT_OPTIONS: readonly LimitOption[] = ['limit', 'window', 'policy', 'limits', 'limiter'];
export const PER_LIMIT_OPTIONS: readonly (keyof PerLimitOptions<never>)[] = ['key', 'cost', 'onMissingKey'];
export const INHERITED_OPTIONS: readonly HttpOption[] = HTTP_OPTIONS.filter((name) => OPTIONS[name].inherited);

/**
 * The first round of checks: that all options exist, are of the right kind, and do not contradict a `limiter`.
 *
 * @param ownOptions - Further options, of the adapter itself.
 * @throws PolicyError for the first mistake.
 */
export function checkHttpOptions(options: object, ownOptions: readonly string[]): void {
  checkOptions(options, [...HTTP_OPTIONS, ...CORE_OPTIONS, ...ownOptions], 'rateLimit');
  const given = options as Readonly<Record<string, unknown>>;
  for (const name of HTTP_OPTIONS) if (given[name] !== undefined) OPTIONS[name].check?.(given[name], name);
  if (given['limiter'] === undefined) return;
  for (const name of ['policy', 'limit', 'window', 'limits', ...CORE_OPTIONS]) {
    if (given[name] === undefined) continue;
    throw new PolicyError(
      name,
      `${name} belongs to the limiter that is given, got ${shown(given[name])} beside it; set it where that limiter is made`,
      'SLUICE_OPTION_INVALID',
    );
  }
}

/** What a layer makes of its options, beside its limiter and limits. */
export interface HttpSettings<Request, Response> {
  readonly allow: ClientList | undefined;
  readonly deny: ClientList | undefined;
  readonly refund: Refund<Request, Response> | undefined;
  readonly pacedRequests: PacedRequests;
  readonly slotRetryAfterMs: number | undefined;
  readonly maxSlotMs: number;
  readonly statuses: DenialStatuses;
  readonly writeFields: FieldWriter;
}

/**
 * The second round, once the limits are known: parses the options that are kept in another form.
 *
 * @throws PolicyError for the first mistake.
 */
export function parseHttpOptions<Request, Response>(
  options: RateLimitOptions<Request, Response>,
): HttpSettings<Request, Response> {
  const { allow, deny, maxPaced, retryAfter, maxSlotMs = DEFAULT_MAX_SLOT_MS, headers, limits = [options] } = options;
  const lists = {
    allow: allow === undefined ? undefined : new ClientList(allow, 'allow'),
    deny: deny === undefined ? undefined : new ClientList(deny, 'deny'),
  };
  const refund = parseRefund(options.refund);
  const pacedRequests = new PacedRequests(
    parseMaxPaced(maxPaced),
    limits.every(({ key }) => isForAll(key)),
  );
  const slotRetryAfterMs =
    retryAfter === undefined ? undefined : parseDuration(retryAfter, 'retryAfter', 'SLUICE_OPTION_INVALID');
  const statuses = parseStatuses(options.status);
  return { ...lists, refund, pacedRequests, slotRetryAfterMs, maxSlotMs, statuses, writeFields: fieldWriter(headers) };
}

function parseStatuses(option: Partial<DenialStatuses> | undefined): DenialStatuses {
  if (option === undefined) return DENIAL_STATUSES;
  checkOptions(option, Object.keys(DENIAL_STATUSES), 'status');
  const given = Object.entries(option).filter(([, status]) => (status as unknown) !== undefined);
  for (const [name, status] of given) aStatus(status, `status.${name}`);
  return { ...DENIAL_STATUSES, ...Object.fromEntries(given) };
}

/** The option `refund`, complete. */
export type Refund<Request, Response> = Required<RefundOptions<Request, Response>>;

function parseRefund<Request, Response>(
  option: RefundWhen<Request, Response> | RefundOptions<Request, Response> | undefined,
): Refund<Request, Response> | undefined {
  if (option === undefined) return undefined;
  const isObject = typeof option === 'object' && (option as unknown) !== null;
  if (isObject) checkOptions(option, ['when', 'onAbort'], 'refund');
  const { when, onAbort = false } = (isObject ? option : { when: option }) as RefundOptions<Request, Response>;
  aRefundRule(when, isObject ? 'refund.when' : 'refund');
  aBoolean(onAbort, 'refund.onAbort');
  return { when, onAbort };
}

/** A held request keeps its socket and what its framework stores for it: about 20 to 50 KB. */
const DEFAULT_MAX_PACED = 1000;

function parseMaxPaced(option: number = DEFAULT_MAX_PACED): number {
  aPacedCount(option, 'maxPaced');
  return option;
}

function checkThat(is: (value: unknown) => boolean, expected: string): Check {
  return (value, field) => {
    if (is(value)) return;
    throw invalidOption(field, expected, value);
  };
}
