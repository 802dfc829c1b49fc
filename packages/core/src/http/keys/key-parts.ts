import { PolicyError, shown } from '../../errors.ts';
import { readOptions, withDefault, wholeNumber, type Options, type WithDefault } from '../../values/shape.ts';
import type { RequestReader } from '../framework.ts';
import { canonicalAddress } from './address.ts';

/** The value of a part of a key. Undefined, null and '' mean that the request has no key. */
export type KeyValue = string | number | null | undefined;

/** A part of a key that is read in the framework's own way. The `by...` functions return these. */
export interface KeyReader<Request, Response = unknown> {
  readonly read: (
    request: Request,
    reader: RequestReader<Request>,
    response: Response | undefined,
  ) => KeyValue | Promise<KeyValue>;
  /** Whether requests without it are common, so that one limit among several skips them by default. */
  readonly optional: boolean;
  /** Set if it reads one of these. With a key of such parts alone, CORS preflights count by the address. */
  readonly of?: 'address' | 'route' | 'method';
}

/** A part of a key that is the client's address. */
export interface AddressReader<Request> extends KeyReader<Request> {
  readonly of: 'address';
  readonly read: (request: Request, reader: RequestReader<Request>) => string | undefined;
}

/** A part of a key: made by a `by...` function, or a function of the request and, where there is one, its response. */
export type KeyPart<Request, Response = unknown> =
  KeyReader<Request, Response> | ((request: Request, response: Response | undefined) => KeyValue | Promise<KeyValue>);

/** One part, or several that make one key together. */
export type Key<Request, Response = unknown> = KeyPart<Request, Response> | readonly KeyPart<Request, Response>[];

const BY_IP = {
  /**
   * Bits of an IPv6 address that identify a client: 32 to 128. Default 64, the least that a host or home owns; 56 is
   * stricter.
   */
  ipv6Prefix: withDefault(wholeNumber(32, 128, 'a whole number of bits'), 64) as WithDefault<number>,
};

export interface ByIpOptions extends Options<typeof BY_IP> {}

/**
 * The client's address, as the framework resolves it: configure its proxy trust. This function reads no header. All
 * spellings of an address are one key.
 *
 * @throws PolicyError for bad or unknown options.
 */
export function byIp<Request>(options: ByIpOptions = {}): AddressReader<Request> {
  const { ipv6Prefix } = readOptions(options, BY_IP, 'byIp');
  let [last, canonical]: [string | undefined, string | undefined] = [undefined, undefined];
  const read = (request: Request, reader: RequestReader<Request>): string | undefined => {
    const address = reader.address(request);
    if (address === undefined) return undefined;
    // Consecutive requests often come over one connection, with the same text.
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
 * The part by which CORS preflights count: the address, also where a key of address, route and method alone has none.
 * Undefined for a key that is made of more.
 */
export function addressForPreflights(parts: readonly KeyPart<object>[]): AddressReader<object> | undefined {
  if (!parts.every((part) => typeof part === 'object' && part.of !== undefined)) return undefined;
  return parts.find((part) => readsAddress<object>(part)) ?? byIp<object>();
}

/** The error about an option that needs the client's address, where requests have none. */
export function addressMissing(field: string, whatToWrite: string): PolicyError {
  return new PolicyError(
    'address',
    `${field} needs the client's address, which a request does not have here; ${whatToWrite}`,
    'SLUICE_OPTION_INVALID',
  );
}

/** The key of requests that match no route. Templates begin with a slash or a star. */
const UNMATCHED = '(unmatched)';

/**
 * The template of the matched route with its mount path, such as `/users/:id`: never the URL, which has many
 * spellings. Requests that match no route share one key.
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
 * A header field. A client can send any value, so use it only for fields that have been verified, or together with
 * `byIp()`.
 *
 * @throws PolicyError for what no field can be named.
 */
export function byHeader<Request>(name: string): KeyReader<Request> {
  if (typeof name !== 'string' || !FIELD_NAME.test(name)) {
    const expected =
      "byHeader takes the name of a header field: letters, digits or !#$%&'*+-.^_`|~, such as 'x-api-key'";
    throw new PolicyError('key', `${expected}, got ${shown(name)}`, 'SLUICE_OPTION_INVALID');
  }
  const lowerCase = name.toLowerCase();
  return { optional: true, read: (request, reader) => reader.header(request, lowerCase) };
}

const ALL: KeyReader<never> = { optional: false, read: () => '*' };

/** One key for all requests. */
export function byAll<Request>(): KeyReader<Request> {
  return ALL as KeyReader<Request>;
}

/** Whether a key is {@link byAll}. */
export function isForAll(key: unknown): boolean {
  return [key].flat().every((part) => part === ALL);
}
