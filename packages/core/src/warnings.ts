import { runtime } from './platform.ts';

/** Every code a warning of Sluice can carry. Each has a heading in docs/reference/errors.md. */
export type SluiceWarningCode =
  | 'SLUICE_CONTEXT_UNKNOWN'
  | 'SLUICE_LIMITER_PER_REQUEST'
  | 'SLUICE_MEMORY_IN_CLUSTER'
  | 'SLUICE_POLICIES_AWAY'
  | 'SLUICE_POLICIES_LOST'
  | 'SLUICE_POLICY_UNCONFIGURED'
  | 'SLUICE_PROXY_NOT_TRUSTED'
  | 'SLUICE_PROXY_TRUSTS_ALL'
  | 'SLUICE_REFUND_FAILED'
  | 'SLUICE_REPORT_FAILED'
  | 'SLUICE_ROUTE_UNKNOWN'
  | 'SLUICE_SLOT_LOST'
  | 'SLUICE_SLOT_TIMEOUT'
  | 'SLUICE_STORE_AWAY'
  | 'SLUICE_THRESHOLD_FAILED'
  | 'SLUICE_UNIT_MISSING';

/** Subjects may come from requests, so there can be any number. */
const MAX_GIVEN = 10_000;
const given = new Set<string>();
const silenced = new Set<SluiceWarningCode>();

/**
 * Turns these warnings off in this process. The flag `--disable-warning=CODE` of Node does the same from outside.
 */
export function silenceWarnings(...codes: readonly SluiceWarningCode[]): void {
  for (const code of codes) silenced.add(code);
}

/**
 * Warns through `process.emitWarning` (the console in a browser), once per code and subject.
 *
 * @param about - What the warning is about; the same code warns once for each.
 * @returns Whether it warned now.
 */
export function warnOnce(code: SluiceWarningCode, message: string, about = ''): boolean {
  const once = `${code} ${about}`;
  if (silenced.has(code) || given.has(once) || given.size === MAX_GIVEN) return false;
  given.add(once);
  warn(code, message);
  return true;
}

/** Warns like {@link warnOnce}, but every time: for conditions that end. */
export function warn(code: SluiceWarningCode, message: string): void {
  if (silenced.has(code)) return;
  if (runtime.emitWarning === undefined) console.warn(`[${code}] ${message}`);
  else runtime.emitWarning(message, { type: 'SluiceWarning', code });
}
