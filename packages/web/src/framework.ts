import type { FrameworkReader } from '@sluice/core/http';
import { NO_ADDRESS, type AddressSource } from './addresses.ts';
import type { Exchange } from './exchange.ts';

/** Reads requests of handlers that return their response. Its responses are exchanges; undefined if none is seen. */
export type FetchFramework<Req extends object> = FrameworkReader<Req, Exchange<Req> | undefined>;

/**
 * @param reader - The facts that frameworks store in different places.
 * @param source - Where addresses come from; undefined if they are unknown.
 * @param exchangeFor - The exchange of a request: the most recently opened one, or a new one.
 */
export function frameworkFor<Req extends object>(
  reader: Pick<FetchFramework<Req>, 'method' | 'route' | 'header' | 'user'>,
  source: AddressSource<never> | undefined,
  exchangeFor: (request: Req) => Exchange,
): FetchFramework<Req> {
  return {
    ...reader,
    noAddress: source === undefined ? NO_ADDRESS : undefined,
    address: (request) => source && exchangeFor(request).address(source),
    rawRequest: exchangeFor,
    locals: (request) => exchangeFor(request).locals,
    rawResponse: (exchange) => exchange,
    argument: (exchange) => exchange?.response,
  };
}
