import { isSluiceError, getMessage, StoreError, type SluiceError, type StoreFailureKind } from '../../errors.ts';

/** The first words of servers' error messages. */
const WORDS: Readonly<Record<string, StoreFailureKind>> = {
  LOADING: 'loading',
  BUSY: 'busy',
  OOM: 'oom',
  READONLY: 'readonly',
  NOPERM: 'denied',
  NOAUTH: 'denied',
  WRONGPASS: 'denied',
  CLUSTERDOWN: 'cluster',
  TRYAGAIN: 'cluster',
  MOVED: 'cluster',
  ASK: 'cluster',
  MASTERDOWN: 'cluster',
  NOREPLICAS: 'cluster',
};
/**
 * The first word of the server's message. Before Redis 7, a prefix about the script precedes it, and with Upstash's
 * client, another one.
 */
const WORD = /^(?:ERR Error running script.*? |Command failed: )?-?([A-Z]+)\b/s;

/** The messages of clients without a connection, each in its own words. */
const CONNECTION_MESSAGES =
  /no connection|client (that you passed )?is (closed|offline)|connection (is )?(closed?|ended|lost|refused|reset|in subscriber mode)|socket (closed|hang up)|stream isn't writeable|max retries per request|failed to refresh slots cache|none of startup nodes|all sentinels are unreachable/i;
const CONNECTION_NAMES =
  /^(MaxRetriesPerRequestError|ClusterAllFailedError|Client(Closed|Offline)Error|SocketClosedUnexpectedlyError|SocketTimeoutError|ConnectionTimeoutError|DisconnectsClientError|ReconnectStrategyError|RootNodesUnavailableError|ConnectionError|ClosingError|AggregateError)$/;
/** Messages that mean the call was never sent. */
const NOT_SENT = /stream isn't writeable|client is (closed|offline)/i;

/** Subjects are in braces. Servers cut quotes off, so a subject can also end with the message. */
const SUBJECT = /\{[^}]*(\}|$)/g;

const NEEDS_PASSWORD =
  '; Redis asks for a password: put it in the URL (redis://:password@host:6379), or in the options of the client';
const WRONG_PASSWORD = '; the user or the password of the URL, or of the options of the client, is wrong';

/**
 * The error of a call as a Sluice error, without the subjects of keys in its message.
 *
 * @param sent - False if the call was certainly not sent.
 */
export function toStoreError(error: unknown, sent = true): SluiceError {
  if (isSluiceError(error)) return error;
  const message = getMessage(error);
  const hint = /\bNOAUTH\b/.test(message) ? NEEDS_PASSWORD : /\bWRONGPASS\b/.test(message) ? WRONG_PASSWORD : '';
  return new StoreError('SLUICE_STORE_FAILED', `Redis did not decide: ${message.replace(SUBJECT, '{...}')}${hint}`, {
    cause: error instanceof Error ? removeCommand(error) : error,
    kind: findKind(message, error),
    sent: sent && !NOT_SENT.test(message),
  });
}

function findKind(message: string, error: unknown, isCause = false): StoreFailureKind {
  const word = WORD.exec(message)?.[1] ?? '';
  const kind = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
  if (kind !== undefined) return kind;
  if (/ACL failure|no permissions to|can't run this command/i.test(message)) return 'denied';
  if (error instanceof Error) {
    if (error.name === 'TimeoutError' || /time(d )?out/i.test(message)) return 'timeout';
    const { code } = error as NodeJS.ErrnoException;
    if (CONNECTION_NAMES.test(error.name) || (typeof code === 'string' && /^E[A-Z]+$/.test(code))) return 'connection';
    if (error.cause instanceof Error && !isCause) return findKind(error.cause.message, error.cause, true);
  }
  return CONNECTION_MESSAGES.test(message) ? 'connection' : 'other';
}

/**
 * The error without the `command` that ioredis attaches: its arguments would put clients' keys, or a password, into
 * logs. A copy, because the original is not ours.
 */
export function removeCommand(error: Error): Error {
  if (!('command' in error)) return error;
  const copy = new Error(error.message, error.cause === undefined ? undefined : { cause: error.cause });
  copy.name = error.name;
  if (error.stack !== undefined) copy.stack = error.stack;
  return copy;
}
