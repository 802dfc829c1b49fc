import type { Sent } from '../http-client.ts';

/** A request of a scenario. Default: that of the usual route. */
export interface Ask extends Sent {
  /** Moves the store's clock before sending. */
  readonly afterMs?: number;
}

/** A request that takes this many units. */
export function cost(units: number, afterMs = 0): Ask {
  return { headers: { 'X-Cost': String(units) }, afterMs };
}

/** A request from a client behind the proxy that the application trusts. */
export function from(address: string, headers: Record<string, string> = {}): Ask {
  return { headers: { 'X-Forwarded-For': address, ...headers } };
}

export function withKey(key: string | readonly string[]): Ask {
  return { headers: { 'X-Api-Key': key } };
}

export function after(afterMs: number): Ask {
  return { afterMs };
}
