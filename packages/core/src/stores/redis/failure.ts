import { SluiceError, StoreError, type StoreFailureKind } from '../../errors.ts';

/** How servers begin the messages of their errors. Within a script the error of a command comes through as it is. */
const PREFIXES: Readonly<Record<string, StoreFailureKind>> = {
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

/** What clients say, each in its own words, when there is no connection. */
const CONNECTION =
  /connection (is )?(closed|ended|lost|refused|reset|in subscriber mode)|socket (closed|hang up)|stream isn't writeable|client is (closed|offline)|no connection|max retries per request|failed to refresh slots cache|none of startup nodes|all sentinels are unreachable/i;
const CONNECTION_NAMES =
  /^(MaxRetriesPerRequestError|ClusterAllFailedError|Client(Closed|Offline)Error|SocketClosedUnexpectedlyError|SocketTimeoutError|ConnectionTimeoutError|DisconnectsClientError|ReconnectStrategyError|RootNodesUnavailableError|ConnectionError|ClosingError|AggregateError)$/;

/** Subjects stand in braces. Servers cut off what they quote: the end of a message is an end as well. */
const SUBJECT = /\{[^}]*(\}|$)/g;

/** The error of a call as one of ours, without the subjects of keys in its message. */
export function failureOf(error: unknown): SluiceError {
  if (error instanceof SluiceError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StoreError('SLUICE_STORE_FAILED', `Redis did not decide: ${message.replace(SUBJECT, '{...}')}`, {
    cause: error,
    kind: kindOf(error, message),
  });
}

function kindOf(error: unknown, message: string): StoreFailureKind {
  const prefix = /^(?:ERR )?-?([A-Z]+)/.exec(message)?.[1] ?? '';
  const kind = Object.hasOwn(PREFIXES, prefix) ? PREFIXES[prefix] : undefined;
  if (kind !== undefined) return kind;
  if (/ACL failure|no permissions to|can't run this command/i.test(message)) return 'denied';
  if (error instanceof Error) {
    if (error.name === 'TimeoutError' || /timed out/i.test(message)) return 'timeout';
    const { code } = error as NodeJS.ErrnoException;
    if (CONNECTION_NAMES.test(error.name) || (typeof code === 'string' && /^E[A-Z]+$/.test(code))) return 'connection';
    if (error.cause instanceof Error && error.cause !== error) return kindOf(error.cause, error.cause.message);
  }
  return CONNECTION.test(message) ? 'connection' : 'other';
}
