import type { CoalescedRequests } from '../../engine/batch-store.ts';
import type { Limit } from '../../engine/store.ts';
import { redisKey } from './redis-key.ts';
import { keptMs, writePolicy } from './write-policy.ts';

/** One call of lua/batch.lua: its keys and arguments, and the order of its requests. */
export interface BatchCall {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Per key, the index of its request. */
  readonly indexes: readonly number[];
}

/**
 * A limit as a call contains it: the kinds of its algorithms, and the arguments before and after the number of its
 * keys.
 */
interface WrittenLimit {
  readonly kinds: ReadonlySet<string>;
  readonly head: readonly string[];
  readonly policies: readonly string[];
  /** The argument of lua/single.lua, for a limit of one policy: all calls share the list, so it is frozen. */
  readonly single: readonly string[] | undefined;
}

const FIRST: readonly number[] = /* @__PURE__ */ Object.freeze([0]);

const known = new WeakMap<Limit, WrittenLimit>();

/** Writes requests as lua/batch.lua reads them: grouped by limit, each limit once. */
export function writeBatch(requests: readonly CoalescedRequests[], prefix: string, checking: boolean): BatchCall {
  const [{ limit, subject, runs: given }] = requests as readonly [CoalescedRequests];
  if (requests.length === 1 && given === undefined) {
    const { single } = known.get(limit) ?? writeLimit(limit);
    if (single !== undefined) {
      const args = checking ? single.map((text) => text.replace(' ', 'C ')) : single;
      return { keys: [redisKey(prefix, subject, limit.keySuffix)], args, indexes: FIRST };
    }
  }
  const byLimit = indexesByLimit(requests);
  const needed = new Set<string>(checking ? ['C'] : []);
  const keys: string[] = [];
  const limits: string[] = [];
  const runs: string[] = [];
  const indexes: number[] = [];
  for (const [limit, own] of byLimit) {
    const { kinds, head, policies } = known.get(limit) ?? writeLimit(limit);
    for (const kind of kinds) needed.add(kind);
    limits.push(...head, String(own?.length ?? requests.length), ...policies);
    for (let i = 0; i < (own?.length ?? requests.length); i++) {
      const index = own?.[i] ?? i;
      const { subject, runs: given } = requests[index] as CoalescedRequests;
      indexes.push(index);
      keys.push(redisKey(prefix, subject, limit.keySuffix));
      for (let j = 0; given !== undefined && j < given.length; j += 2) {
        runs.push(String(keys.length), String(given[j]), String(given[j + 1]));
      }
    }
  }
  return { keys, args: [[...needed].join(''), String(byLimit.size), ...limits, ...runs], indexes };
}

/** Per limit the indexes of its requests; undefined when all requests have this limit, which is the usual case. */
function indexesByLimit(requests: readonly CoalescedRequests[]): ReadonlyMap<Limit, readonly number[] | undefined> {
  const { limit: first } = requests[0] as CoalescedRequests;
  if (requests.every(({ limit }) => limit === first)) return new Map([[first, undefined]]);
  const byLimit = new Map<Limit, number[]>();
  for (let index = 0; index < requests.length; index++) {
    const { limit } = requests[index] as CoalescedRequests;
    const own = byLimit.get(limit);
    if (own === undefined) byLimit.set(limit, [index]);
    else own.push(index);
  }
  return byLimit;
}

function writeLimit(limit: Limit): WrittenLimit {
  const kinds = new Set<string>();
  const policies = limit.policies.flatMap((named) => writePolicy(named, kinds));
  const head = [String(limit.policies.length), String(keptMs(limit))];
  const [kind, ...numbers] = policies;
  const single = limit.policies.length === 1 ? Object.freeze([[kind, keptMs(limit), ...numbers].join(' ')]) : undefined;
  const written = { kinds, head, policies, single };
  known.set(limit, written);
  return written;
}
