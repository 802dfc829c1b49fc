import { compile, type Rule } from '../../policies/index.ts';
import { GIVE } from '../../program/decide.ts';
import type { Kind } from '../../program/kinds.ts';
import { OPS } from '../perform.ts';
import type { Answer, Ask, Op } from '../store.ts';

/** A call never does more than this: it would block the other clients of the server for some milliseconds. */
const MAX_WORK = 256;
const MAX_BYTES = 65_536;
const MAX_COUNT = 1000;
/** The work of a request that is equal to one in the call, compared with that of one key. */
const EQUAL_WORK = 0.05;

export interface Caller {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** A request of a call, and who waits for it: a caller for each time that it is made. */
export interface Request {
  readonly op: Op;
  readonly asks: readonly Ask[];
  readonly caller: Caller;
  others: Caller[] | undefined;
}

/** How often a request is made. */
export function timesOf({ others }: Request): number {
  return others === undefined ? 1 : others.length + 1;
}

export function rejectCallers(requests: readonly Request[], error: unknown): void {
  for (const { caller, others } of requests) {
    caller.reject(error);
    if (others !== undefined) for (const other of others) other.reject(error);
  }
}

/** The requests of one call of the script, in order. Equal decisions are one request. */
export class Requests {
  readonly list: Request[] = [];
  /** The last decision over each key: made when there is a second one. */
  #byKey: Map<string, Request> | undefined;
  #work = 0;
  #bytes = 0;

  /** Adds a request, unless the call is full. */
  add(op: Op, asks: readonly Ask[], caller: Caller): boolean {
    if (this.#work >= MAX_WORK || this.#bytes >= MAX_BYTES) return false;
    const equal = this.#find(op, asks);
    if (equal === undefined) {
      const request: Request = { op, asks, caller, others: undefined };
      this.list.push(request);
      if (this.#byKey !== undefined) for (const { key } of asks) this.#byKey.set(key, request);
    } else if (equal.others === undefined) equal.others = [caller];
    else equal.others.push(caller);
    for (let i = 0; i < asks.length; i++) {
      const { key, policy } = asks[i] as Ask;
      const rule = compile(policy);
      this.#work += equal === undefined || isLong(rule.kind) ? workOf(rule) : EQUAL_WORK;
      if (equal === undefined) this.#bytes += key.length;
    }
    return true;
  }

  #find(op: Op, asks: readonly Ask[]): Request | undefined {
    const { list } = this;
    const last = list[list.length - 1];
    if (last === undefined) return undefined;
    // What is asked between two operations stays there, and each edit is a request of its own.
    if (last.op !== op || OPS[op] >= GIVE) {
      this.#byKey = undefined;
      return undefined;
    }
    const byKey = (this.#byKey ??= new Map(last.asks.map(({ key }) => [key, last])));
    const found = byKey.get((asks[0] as Ask).key);
    if (found === undefined || timesOf(found) >= MAX_COUNT || !areEqual(found.asks, asks)) return undefined;
    // It would move before what asked for one of its keys meanwhile.
    for (let i = 1; i < asks.length; i++) if (byKey.get((asks[i] as Ask).key) !== found) return undefined;
    return found;
  }
}

/** Whether two lists of asks are for the same keys, policies and costs, and no slots. */
export function areEqual(some: readonly Ask[], others: readonly Ask[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i++) {
    const one = some[i] as Ask;
    const other = others[i] as Ask;
    if (one.key !== other.key || one.policy !== other.policy || one.cost !== other.cost) return false;
    if (one.holder !== undefined && one.holder > 0) return false;
  }
  return true;
}

/** Whether the script answers figures, because the state is long. */
export function isLong(kind: Kind): boolean {
  return kind === 'g' || kind === 'h';
}

/** The time of the script for one key, compared with that of a fixed window. */
function workOf({ kind, limit }: Rule): number {
  if (isLong(kind)) return 1 + limit / 50;
  return kind === 's' ? 2 : 1;
}
