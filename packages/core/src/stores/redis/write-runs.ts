import type { KeyRuns } from '../runs.ts';
import type { Limit } from '../store.ts';
import { keptMs, writePolicy } from './write-policy.ts';

/** One call of frame/runs.lua: what goes out, and the requests in the order in which their keys do. */
export interface RunsCall {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Per key, its place among those that were asked for. */
  readonly places: readonly number[];
}

/** A limit as a call tells of it: the kinds of its algorithms, and its numbers before and after the number of its keys. */
interface WrittenLimit {
  readonly kinds: ReadonlySet<string>;
  readonly head: readonly string[];
  readonly policies: readonly string[];
  /** The arguments of frame/alone.lua, where there is a single policy: the same for all calls, whatever client they are handed to. */
  readonly alone: readonly string[] | undefined;
}

const FIRST: readonly number[] = Object.freeze([0]);

const known = new WeakMap<Limit, WrittenLimit>();

/** Writes runs as frame/runs.lua reads them: by limits, each of which is told of once. */
export function writeRuns(asked: readonly KeyRuns[], prefix: string, checking: boolean): RunsCall {
  const [{ limit, subject, runs: given }] = asked as readonly [KeyRuns];
  if (asked.length === 1 && given === undefined) {
    const { alone } = writeLimit(limit);
    if (alone !== undefined) {
      const args = checking ? [`${alone[0] as string}C`, ...alone.slice(1)] : alone;
      return { keys: [keyOf(prefix, subject, limit)], args, places: FIRST };
    }
  }
  const byLimit = placesByLimit(asked);
  const needed = new Set<string>(checking ? ['C'] : []);
  const keys: string[] = [];
  const limits: string[] = [];
  const runs: string[] = [];
  const places: number[] = [];
  for (const [limit, own] of byLimit) {
    const { kinds, head, policies } = writeLimit(limit);
    for (const kind of kinds) needed.add(kind);
    limits.push(...head, String(own?.length ?? asked.length), ...policies);
    for (let i = 0; i < (own?.length ?? asked.length); i++) {
      const place = own?.[i] ?? i;
      const { subject, runs: given } = asked[place] as KeyRuns;
      places.push(place);
      keys.push(keyOf(prefix, subject, limit));
      for (let j = 0; given !== undefined && j < given.length; j += 2) {
        runs.push(String(keys.length), String(given[j]), String(given[j + 1]));
      }
    }
  }
  return { keys, args: [[...needed].join(''), String(byLimit.size), ...limits, ...runs], places };
}

function keyOf(prefix: string, subject: string, limit: Limit): string {
  return `${prefix}:{${subject}}${limit.scope}`;
}

/** Per limit the places of what is asked of it; undefined for all: the usual case. */
function placesByLimit(asked: readonly KeyRuns[]): ReadonlyMap<Limit, readonly number[] | undefined> {
  const { limit: first } = asked[0] as KeyRuns;
  if (asked.every(({ limit }) => limit === first)) return new Map([[first, undefined]]);
  const byLimit = new Map<Limit, number[]>();
  for (let place = 0; place < asked.length; place++) {
    const { limit } = asked[place] as KeyRuns;
    const own = byLimit.get(limit);
    if (own === undefined) byLimit.set(limit, [place]);
    else own.push(place);
  }
  return byLimit;
}

function writeLimit(limit: Limit): WrittenLimit {
  let written = known.get(limit);
  if (written === undefined) {
    const kinds = new Set<string>();
    const policies = limit.policies.flatMap((named) => writePolicy(named, kinds));
    const head = [String(limit.policies.length), String(keptMs(limit))];
    const [kind, ...numbers] = policies;
    const alone =
      limit.policies.length === 1 ? Object.freeze([String(kind), '0', String(keptMs(limit)), ...numbers]) : undefined;
    written = { kinds, head, policies, alone };
    known.set(limit, written);
  }
  return written;
}
