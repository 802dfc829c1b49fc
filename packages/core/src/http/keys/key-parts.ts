import { PolicyError, shown, typeError } from '../../errors.ts';
import { readOptions, withDefault, wholeNumber, type Options, type WithDefault } from '../../values/shape.ts';
import { joinLines, type AnyReader, type FrameworkReader } from '../framework.ts';
import { isThenable, mapMaybe, type MaybePromise } from '../maybe.ts';
import { canonicalAddress } from './address.ts';

/** The value of a part of a key. Undefined, null and '' mean that the request has no key. */
export type KeyValue = string | number | null | undefined;

/** A part of a key that the framework reads. Returned by the `by...` functions. */
export interface KeyReader<Request, Response = unknown> {
  readonly read: (
    request: Request,
    reader: FrameworkReader<Request, never>,
    response: Response | undefined,
  ) => KeyValue | Promise<KeyValue>;
  /** Whether requests without it are common, so that one limit among several skips them by default. */
  readonly optional: boolean;
  /** Set if it reads one of these. If a key has only such parts, CORS preflights are counted by the address. */
  readonly of?: 'address' | 'route' | 'method';
}

/** A part of a key that is the client's address. */
export interface AddressReader<Request> extends KeyReader<Request> {
  readonly of: 'address';
  readonly read: (request: Request, reader: FrameworkReader<Request, never>) => string | undefined;
}

/**
 * A part of a key: the result of a `by...` function, or a function of the request and the response (if there is one).
 */
export type KeyPart<Request, Response = unknown> =
  KeyReader<Request, Response> | ((request: Request, response: Response | undefined) => KeyValue | Promise<KeyValue>);

/** One part, or several that together form one key. */
export type Key<Request, Response = unknown> = KeyPart<Request, Response> | readonly KeyPart<Request, Response>[];

const BY_IP = {
  /**
   * How many bits of an IPv6 address identify a client: 32 to 128. Default 64, the smallest network that a host or home
   * gets; 56 is stricter.
   */
  ipv6Prefix: withDefault(wholeNumber(32, 128, 'a whole number of bits'), 64) as WithDefault<number>,
};

export interface ByIpOptions extends Options<typeof BY_IP> {}

/**
 * The client's address, as the framework resolves it by its trusted proxies. This function reads no header. All
 * spellings of an address are one key.
 *
 * @throws PolicyError for bad or unknown options.
 */
export function byIp<Request>(options: ByIpOptions = {}): AddressReader<Request> {
  const { ipv6Prefix } = readOptions(options, BY_IP, 'byIp');
  let [last, canonical]: [string | undefined, string | undefined] = [undefined, undefined];
  const read = (request: Request, reader: FrameworkReader<Request, never>): string | undefined => {
    const address = reader.address(request);
    if (address === undefined) return undefined;
    // Consecutive requests often come over one connection, with the same address.
    if (address !== last) {
      canonical = canonicalAddress(address, ipv6Prefix);
      last = address;
    }
    return canonical;
  };
  return { of: 'address', optional: false, read };
}

/** Whether a part of a key is the client's address. */
export function readsAddress<Request>(part: unknown): part is AddressReader<Request> {
  return (part as Partial<KeyReader<Request>> | null | undefined)?.of === 'address';
}

/**
 * The part by which CORS preflights are counted: the address, even if a key of only route and method has none.
 * Undefined if the key contains anything else.
 */
export function findPreflightAddress(parts: readonly KeyPart<object>[]): AddressReader<object> | undefined {
  if (!parts.every((part) => typeof part === 'object' && part.of !== undefined)) return undefined;
  return parts.find((part) => readsAddress<object>(part)) ?? byIp<object>();
}

/** The error for an option that needs the client's address if requests have none. */
export function makeAddressError(field: string, whatToWrite: string): PolicyError {
  return new PolicyError(
    'address',
    `${field} needs the client's address, which a fetch Request does not carry; ${whatToWrite}`,
    'SLUICE_OPTION_INVALID',
  );
}

/** The key of requests that match no route. Templates begin with a slash or a star. */
const UNMATCHED = '(unmatched)';

/**
 * The template of the matched route with its mount path, such as `/users/:id`, never the URL, which can be spelled in
 * many ways. All requests without a route share one key.
 */
export function byRoute<Request>(): KeyReader<Request> {
  return {
    of: 'route',
    optional: false,
    read: (request, reader) => reader.route(request) ?? UNMATCHED,
  };
}

/** The method; HEAD counts as GET. */
export function byMethod<Request>(): KeyReader<Request> {
  return {
    of: 'method',
    optional: false,
    read: (request, reader) => {
      const method = reader.method(request);
      return method === 'HEAD' ? 'GET' : method;
    },
  };
}

/**
 * The user's id: the result of `pick`, or what the framework's usual authentication stored on the request.
 *
 * @throws PolicyError if `pick` is no function.
 */
export function byUser<Request, Response = unknown>(
  pick?: (request: Request, response: Response | undefined) => KeyValue | Promise<KeyValue>,
): KeyReader<Request, Response> {
  if (pick !== undefined && typeof pick !== 'function') {
    const expected = 'byUser takes a function of the request that returns the id';
    const message = `${expected}, got ${shown(pick)}; write byUser((request) => request.user.id), or byUser()`;
    throw new PolicyError('key', message, 'SLUICE_OPTION_INVALID');
  }
  return {
    optional: true,
    read:
      pick === undefined
        ? (request, reader) => reader.user(request)
        : (request, _reader, response) => pick(request, response),
  };
}

/** A token of RFC 9110. */
const FIELD_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * A header field. A client can send any value, so use it only for verified fields, or together with `byIp()`.
 *
 * @throws PolicyError if it is not a valid field name.
 */
export function byHeader<Request>(name: string): KeyReader<Request> {
  if (typeof name !== 'string' || !FIELD_NAME.test(name)) {
    const expected =
      "byHeader takes the name of a header field: letters, digits or !#$%&'*+-.^_`|~, such as 'x-api-key'";
    throw new PolicyError('key', `${expected}, got ${shown(name)}`, 'SLUICE_OPTION_INVALID');
  }
  const lowerCase = name.toLowerCase();
  return { optional: true, read: (request, reader) => joinLines(reader.header(request, lowerCase)) };
}

/** One key for all requests. */
export function byAll<Request>(): KeyReader<Request> {
  return { optional: false, read: () => '*' };
}

/** Passing one of these without calling it is a mistake: it would be taken for a function of the request. */
const FACTORIES: ReadonlySet<unknown> = new Set([byAll, byHeader, byIp, byMethod, byRoute, byUser]);

/** Reads the key of a request; undefined if it has none. */
export type ReadKey = (request: object, reader: AnyReader, response?: unknown) => MaybePromise<string | undefined>;
type PartReader = Pick<KeyReader<object>, 'read'>;

/**
 * Checks the option `key`.
 *
 * @throws PolicyError for a bad value.
 */
export function parseKey(given: unknown = byIp(), field: string): readonly KeyPart<object>[] {
  const parts: readonly unknown[] = Array.isArray(given) ? given : [given];
  const fail = (what: string): never => {
    throw new PolicyError(field, `${field} must ${what}`, 'SLUICE_OPTION_INVALID');
  };
  if (parts.length === 0) fail('have at least one part, got an empty list');
  for (const part of parts) {
    if (FACTORIES.has(part)) {
      const { name } = part as { name: string };
      fail(`be the result of ${name}(), got the function itself; write ${name}()`);
    }
    if (typeof part === 'function' || typeof (part as Partial<KeyReader<never>> | null)?.read === 'function') continue;
    const known = 'byIp(), byRoute(), byUser() or the like, a function of the request, or a list of these';
    fail(`be ${known}, got ${shown(part)}`);
  }
  return parts as readonly KeyPart<object>[];
}

/**
 * Turns a key into a function.
 *
 * @param parts - What {@link parseKey} returned.
 * @throws PolicyError for a part that requests do not have in this framework.
 */
export function makeReadKey(parts: readonly KeyPart<object>[], reader: AnyReader, field: string): ReadKey {
  const readers = parts.map((part): PartReader => {
    if (typeof part === 'function') return { read: (request, _reader, response) => part(request, response) };
    if (reader.noAddress !== undefined && readsAddress(part)) throw makeAddressError(field, reader.noAddress);
    return part;
  });
  const [only] = readers;
  if (readers.length === 1 && only !== undefined) {
    if (readsAddress<object>(only)) return only.read;
    return (...call) => mapMaybe(only.read(...call), formatPart);
  }
  // One part after the other: in parallel, the rejection of a second part would be unhandled.
  const readFrom = (start: number, values: KeyValue[], ...call: Parameters<ReadKey>): ReturnType<ReadKey> => {
    for (let i = start; i < readers.length; i++) {
      const value = (readers[i] as PartReader).read(...call);
      if (isThenable(value)) return Promise.resolve(value).then((late) => readFrom(i + 1, [...values, late], ...call));
      values.push(value);
    }
    return joinParts(values);
  };
  return (...call) => readFrom(0, [], ...call);
}

/** Whether requests without this key are common. */
export function isOptionalKey(parts: readonly KeyPart<object>[]): boolean {
  return parts.some((part) => typeof part === 'object' && part.optional);
}

/** Joins parts into one key; undefined if a part is missing. Different lists of parts never make the same key. */
export function joinParts(values: readonly KeyValue[]): string | undefined {
  let joined = '';
  for (let i = 0; i < values.length; i++) {
    const text = formatPart(values[i]);
    if (text === undefined) return undefined;
    joined +=
      (i === 0 ? '' : '|') +
      (text.includes('|') || text.includes('%') ? text.replaceAll('%', '%25').replaceAll('|', '%7C') : text);
  }
  return joined;
}

/** A part as text, unescaped; undefined if it is missing. */
function formatPart(value: KeyValue): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (value === undefined || value === null) return undefined;
  if (Number.isFinite(value)) return String(value);
  throw typeError(
    'SLUICE_KEY_INVALID',
    `a part of a key must be a string or a number, got ${shown(value)}; nothing was consumed`,
  );
}
