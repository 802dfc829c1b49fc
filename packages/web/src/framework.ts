import { NO_RESPONSE, type Framework, type RequestMarks, type RequestReader } from '@sluice/old-http/spi';
import type { RateLimitInfo } from '@sluice/old-http';
import { NO_ADDRESS, tellsPeer, type AddressSource } from './addresses.ts';
import { Exchange } from './exchange.ts';
import { isResponse } from './is-response.ts';
import { kindOf } from './kind-of.ts';

/** The differences between frameworks whose handlers return a `Response`. */
export interface FetchReader<Req> extends Omit<RequestReader<Req>, 'address' | 'noAddress'> {
  /** The request as it arrived. */
  incoming(request: Req): Request;
  /** The second argument that the server passes with the request. */
  context(request: Req): readonly unknown[];
  /** A field of the response that is known before its handler has run. */
  early(request: Req, name: string): string | undefined;
  record(request: Req, info: RateLimitInfo): void;
}

/** Requests of each limiter that are looked at for a proxy that is not trusted. */
const LOOKED_AT = 100;
const FORWARDED: readonly string[] = ['x-forwarded-for', ''];
const NOT_FORWARDED: readonly string[] = [];

/** Marks are stored in the exchange, which `rawRequest` returns. */
const marks: RequestMarks = {
  of: (exchange) => (exchange as Exchange).mark,
  write: (exchange, mark) => {
    (exchange as Exchange).mark = mark;
  },
};

/**
 * Reads requests by a reader, and collects in an exchange what becomes the response.
 *
 * @param source - Where addresses come from; undefined if they are unknown.
 */
export function frameworkOf<Req extends object>(
  reader: FetchReader<Req>,
  source: AddressSource | undefined,
): Framework<Req, Exchange<Req>> {
  let looksAt = source !== undefined && tellsPeer(source) ? LOOKED_AT : 0;
  const exchangeOf = (request: Req): Exchange<Req> => {
    const known = Exchange.of(request);
    if (known !== undefined) return known as Exchange<Req>;
    const exchange = Exchange.open(request, reader.incoming(request), reader.context(request));
    exchange.isOpen = false; // no handler is behind it, as in keyFor(request)
    return exchange;
  };
  const addressOf = (exchange: Exchange): string | undefined =>
    source && exchange.address(() => addressIn(source(exchange.incoming, ...(exchange.context as never[]))));
  return {
    ...reader,
    marks,
    noAddress: source === undefined ? NO_ADDRESS : undefined,
    address: (request) => addressOf(exchangeOf(request)),
    rawRequest: (request) => {
      const exchange = exchangeOf(request);
      if (looksAt > 0) {
        looksAt--;
        addressOf(exchange); // the peer that the warning names
        exchange.rawHeaders = exchange.incoming.headers.has('x-forwarded-for') ? FORWARDED : NOT_FORWARDED;
      }
      return exchange;
    },
    rawResponse: (exchange) => (exchange.isChecked ? NO_RESPONSE : exchange),
    argument: (exchange) => exchange.response,
    getHeader: (exchange, name) =>
      exchange.getField(name) ??
      (name.startsWith('Access-Control-') ? reader.early(exchange.request, name) : undefined),
    setHeader: (exchange, name, value) => {
      exchange.setField(name, value);
    },
    removeHeader: (exchange, name) => {
      exchange.removeField(name);
    },
    setStatus: (exchange, status) => {
      exchange.statusCode = status;
    },
    send: (exchange, body) => {
      exchange.body = body;
    },
    answerWith: (exchange, value) => {
      if (!isResponse(value)) {
        throw new TypeError(
          `onDenied must return a Response, or undefined for one without a body, got ${kindOf(value)}`,
        );
      }
      exchange.response = value;
    },
  };
}

/** @throws TypeError for what an address source must not return. */
function addressIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return undefined;
  throw new TypeError(
    `address must return the client's address as a text, or undefined, got ${kindOf(value)}; it cannot wait: find out before what takes time`,
  );
}
