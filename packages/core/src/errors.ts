/** The codes of Sluice's errors. Each has a heading in docs/reference/errors.md. Match on codes, not on messages. */
export type SluiceErrorCode =
  | 'SLUICE_POLICY_INVALID'
  | 'SLUICE_OPTION_INVALID'
  | 'SLUICE_OPTION_UNKNOWN'
  | 'SLUICE_LIMITER_NAME_TAKEN'
  | 'SLUICE_LIMITER_CLOSED'
  | 'SLUICE_KEY_INVALID'
  | 'SLUICE_COST_INVALID'
  | 'SLUICE_ACQUIRE_NEEDED'
  | 'SLUICE_ACQUIRE_NOT_NEEDED'
  | 'SLUICE_WAIT_TIMEOUT'
  | 'SLUICE_WAIT_FULL'
  | 'SLUICE_NEVER_FITS'
  | 'SLUICE_SLOT_LOST'
  | 'SLUICE_DECISION_UNKNOWN'
  | 'SLUICE_STORE_FAILED'
  | 'SLUICE_STORE_TIMEOUT'
  | 'SLUICE_STORE_KEY_FOREIGN'
  | 'SLUICE_STORE_REPLY_INVALID'
  | 'SLUICE_BREAKER_OPEN'
  | 'SLUICE_REDIS_CLIENT_MISSING'
  | 'SLUICE_SPLIT_UNCONFIRMED'
  | 'SLUICE_POLICY_UNCONFIGURED'
  | 'SLUICE_POLICIES_READ_ONLY'
  | 'SLUICE_DENIED';

/**
 * The base class of Sluice's errors. Match on `code`, which is stable: two copies of a package in one process break
 * `instanceof`.
 */
export class SluiceError extends Error {
  override readonly name: string = 'SluiceError';
  readonly code: SluiceErrorCode;

  constructor(code: SluiceErrorCode, message: string, options?: ErrorOptions) {
    super(`${message} [${code}]`, options);
    this.code = code;
  }
}

/** An invalid policy or option, thrown at construction, before anything is consumed. */
export class PolicyError extends SluiceError {
  override readonly name = 'PolicyError';
  /** The invalid option, such as `window` or `limits[1].policy`. */
  readonly field: string;

  constructor(field: string, message: string, code: SluiceErrorCode = 'SLUICE_POLICY_INVALID') {
    super(code, message);
    this.field = field;
  }
}

/**
 * Why a store did not decide: it was late (`timeout`) or unreachable (`connection`); it is loading its data
 * (`loading`), running a long script (`busy`), out of memory (`oom`) or a replica (`readonly`); this user lacks a right
 * (`denied`); the cluster or replication is incomplete (`cluster`); the key holds a value that Sluice did not write
 * (`key`); the reply is invalid (`reply`); the breaker is open (`open`); anything else (`other`).
 */
export type StoreFailureKind =
  | 'timeout'
  | 'connection'
  | 'loading'
  | 'busy'
  | 'oom'
  | 'readonly'
  | 'denied'
  | 'cluster'
  | 'key'
  | 'reply'
  | 'open'
  | 'other';

const KINDS: Partial<Record<SluiceErrorCode, StoreFailureKind>> = {
  SLUICE_STORE_TIMEOUT: 'timeout',
  SLUICE_STORE_KEY_FOREIGN: 'key',
  SLUICE_STORE_REPLY_INVALID: 'reply',
  SLUICE_BREAKER_OPEN: 'open',
  SLUICE_SPLIT_UNCONFIRMED: 'connection',
};

/** Details of a store's failure. */
export interface StoreErrorOptions extends ErrorOptions {
  /** Default: derived from the code, otherwise `other`. */
  readonly kind?: StoreFailureKind;
  /** Default true, unless the breaker was open. */
  readonly sent?: boolean;
}

/**
 * The store could not decide: it was unreachable or late, or its reply was invalid. The underlying error is the
 * `cause`.
 */
export class StoreError extends SluiceError {
  override readonly name = 'StoreError';
  readonly kind: StoreFailureKind;
  /** Whether the store may have received and executed the call. False if it certainly did not. */
  readonly sent: boolean;

  constructor(code: SluiceErrorCode, message: string, options: StoreErrorOptions = {}) {
    super(code, message, options);
    this.kind = options.kind ?? KINDS[code] ?? 'other';
    this.sent = options.sent ?? code !== 'SLUICE_BREAKER_OPEN';
  }
}

/** Whether an error is one of ours, whichever copy of this package made it. */
export function isSluiceError(error: unknown): error is SluiceError {
  return error instanceof Error && String((error as Partial<SluiceError>).code).startsWith('SLUICE_');
}

/** The message of anything that was thrown. */
export function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Turns any error of a store into one of ours. Its `sent` is unknown, and therefore true. */
export function asStoreError(error: unknown): SluiceError {
  if (isSluiceError(error)) return error;
  return new StoreError('SLUICE_STORE_FAILED', `the store failed: ${getMessage(error)}`, { cause: error });
}

/** A TypeError with a code: the wrong kind of value in a call. Nothing was consumed. */
export function typeError(code: SluiceErrorCode, message: string): TypeError & { code: SluiceErrorCode } {
  return Object.assign(new TypeError(`${message} [${code}]`), { code });
}

/** A RangeError with a code: a number out of its range in a call. Nothing was consumed. */
export function rangeError(code: SluiceErrorCode, message: string): RangeError & { code: SluiceErrorCode } {
  return Object.assign(new RangeError(`${message} [${code}]`), { code });
}

const MAX_SHOWN = 80;
/** User and password of a URL. */
const SECRET = /\/\/\S*@/g;

/** A value as an error message shows it: short, without passwords of URLs, and with `"5"` and `5` distinct. */
export function shown(value: unknown): string {
  let text: string;
  if (typeof value === 'string') text = JSON.stringify(value).replace(SECRET, '//...@');
  else if (typeof value === 'function') text = `a function${value.name === '' ? '' : ` (${value.name})`}`;
  else if (Array.isArray(value)) text = `an array of ${String(value.length)}`;
  else if (typeof value === 'object' && value !== null)
    text = `an object with ${Object.keys(value).join(', ') || 'no fields'}`;
  else if (Object.is(value, -0)) text = '-0';
  else text = typeof value === 'bigint' ? `${String(value)}n` : String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
}
