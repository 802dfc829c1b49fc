import type { Limit, Want } from '../limiter/limits.ts';
import { slidingWindow } from '../policies/sliding-window.ts';
import { readSubject } from '../values/key.ts';
import type { AnyReader } from './framework.ts';
import { byIp, type AddressReader } from './keys/key-parts.ts';
import type { HttpLimit, PlacedLimits } from './place.ts';

/** The subjects of preflights begin with this. No other subject does: a key that begins with `#` is hashed. */
const MARK = '#preflight';

/**
 * Whether a request with the method OPTIONS is a CORS preflight of a browser, which has neither a body nor credentials. Any other OPTIONS
 * request counts.
 */
export function isPreflight(framework: AnyReader, request: object): boolean {
  const has = (name: string): boolean => framework.header(request, name) !== undefined;
  return (
    has('origin') &&
    has('access-control-request-method') &&
    Number(framework.header(request, 'content-length') ?? 0) === 0 &&
    !['transfer-encoding', 'content-type', 'authorization', 'cookie'].some(has) &&
    framework.rawRequest(request).stream?.endAfterHeaders !== false
  );
}

/** A preflight budget that each address has. */
interface Budget {
  readonly address: AddressReader<object>;
  readonly limit: Limit;
}

/**
 * The budgets of an address for CORS preflights, apart from those of the requests they announce: the same policies
 * under keys that no client can send, or 600 a minute if there are none. Preflights hold no slot, do not wait, and call
 * no function of the request.
 *
 * @returns What a preflight takes from them; nothing if requests have no address, because a budget shared by all
 * clients could lock all of them out.
 */
export function readPreflightBudgets(
  places: readonly PlacedLimits[],
  framework: AnyReader,
): (request: object) => readonly Want[] {
  const own = places.flatMap(({ limits }) => limits.flatMap(makeBudget));
  const nearest = places.at(-1);
  const byDefault = (): Budget[] => {
    if (framework.noAddress !== undefined || nearest === undefined) return [];
    const policy = slidingWindow({ limit: 600, window: '1m', name: 'preflights' });
    return [{ address: byIp(), limit: nearest.core.limitFor(policy) }];
  };
  let budgets = own.length > 0 ? own : undefined;
  return (request) =>
    (budgets ??= byDefault()).map(({ address, limit }) => {
      const text = address.read(request, framework);
      const subject = text === undefined ? MARK : `${MARK}:${readSubject(text)}`;
      return { limit, key: subject, subject, cost: 1, holder: 0, isNamed: false };
    });
}

/** The policies of a limit with fixed numbers, except those that hold slots. */
function makeBudget({ limit, address }: HttpLimit): readonly Budget[] {
  if (address === undefined || typeof limit === 'function' || limit.fixed === undefined) return [];
  const fixed = limit.fixed.filter(({ rule }) => !rule.holds);
  return fixed.length === 0 ? [] : [{ address, limit: { ...limit, fixed } }];
}
