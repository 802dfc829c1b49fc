import { StoreError, type SluiceErrorCode, type StoreFailureKind } from '@sluice/old-core';
import { isSluiceError, kindOf, messageOf, shown } from '@sluice/old-core/spi';

/** An error as frames hold it. */
interface WrittenFailure {
  readonly code: string;
  readonly message: string;
  readonly kind: string;
}

const CODES: readonly SluiceErrorCode[] = [
  'SLUICE_STORE_FAILED',
  'SLUICE_STORE_TIMEOUT',
  'SLUICE_STORE_KEY_FOREIGN',
  'SLUICE_STORE_REPLY_INVALID',
  'SLUICE_TWINS_DISAGREE',
  'SLUICE_BREAKER_OPEN',
  'SLUICE_REDIS_CLIENT_MISSING',
  'SLUICE_SPLIT_UNCONFIRMED',
];
const KINDS: readonly StoreFailureKind[] = [
  'timeout',
  'connection',
  'loading',
  'busy',
  'oom',
  'readonly',
  'denied',
  'cluster',
  'key',
  'reply',
  'open',
  'other',
];
const LONGEST_MESSAGE = 4096;

/** An error as JSON. Only its message, code and kind go out, not its cause. */
export function failureToJson(error: unknown): WrittenFailure {
  const message = messageOf(error).slice(0, LONGEST_MESSAGE);
  return { code: isSluiceError(error) ? error.code : 'SLUICE_STORE_FAILED', message, kind: kindOf(error) };
}

/** Reads what {@link failureToJson} wrote; undefined for anything else. */
export function failureFromJson(given: unknown): StoreError | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const { code, message, kind } = given as Partial<Record<keyof WrittenFailure, unknown>>;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  const known = CODES.find((one) => one === code) ?? 'SLUICE_STORE_FAILED';
  const said = message.slice(0, LONGEST_MESSAGE).replace(/ \[SLUICE_[A-Z_]+\]$/, '');
  return new StoreError(known, said, { kind: KINDS.find((one) => one === kind) ?? 'other' });
}

/** The error of an answer that is not of this protocol. */
export function strangeAnswer(what: string, got: unknown): StoreError {
  return new StoreError('SLUICE_STORE_REPLY_INVALID', `the server answered ${shown(got)} instead of ${what}`);
}
