import type { NamedPolicy } from '../../policy.ts';
import type { CarryOver, Limit, Part, StoreRequest } from '../store.ts';

/** One script call: what goes out, and what is needed to read what comes back. */
export interface Call {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly requests: readonly StoreRequest[];
  /** Per request and part, the place of its key in `keys`. */
  readonly places: readonly (readonly number[])[];
  /** Per key, a limit that lives under it: its schema is part of the key, so any will do to read the value. */
  readonly limits: readonly Limit[];
  readonly checking: boolean;
  /** Whether any limit has editions. */
  readonly hasEditions: boolean;
}

/** Writes requests as frame.lua reads them. */
export function writeCall(requests: readonly StoreRequest[], prefix: string, checking: boolean): Call {
  const keys: string[] = [];
  const limits: Limit[] = [];
  const places: number[][] = [];
  const placeOfKey = new Map<string, number>();
  const placeOfPlan = new Map<Limit, number>();
  const plans: string[] = [];
  const tasks: string[] = [];
  const needed = new Set<string>(checking ? ['C'] : []);

  const hasEditions = requests.some((request) => partsOf(request).some(({ limit }) => limit.edition !== undefined));
  if (hasEditions) needed.add('V');
  const escalates = requests.some(
    (request) => request.op === 'consume' && request.parts.some(({ limit }) => limit.escalation !== undefined),
  );
  if (escalates) needed.add('X');
  const keyPlace = ({ subject, limit }: Part): number => {
    const key = `${prefix}:{${subject}}${limit.scope}`;
    let place = placeOfKey.get(key);
    if (place === undefined) {
      place = keys.push(key) - 1;
      limits.push(limit);
      placeOfKey.set(key, place);
    }
    return place;
  };
  const planPlace = (limit: Limit): number => {
    let place = placeOfPlan.get(limit);
    if (place === undefined) {
      place = placeOfPlan.size + 1;
      placeOfPlan.set(limit, place);
      plans.push(String(limit.policies.length), String(keptMs(limit)));
      if (hasEditions) plans.push(...writeEdition(limit, needed));
      if (escalates) plans.push(...writeEscalation(limit));
      for (const named of limit.policies) plans.push(...writePolicy(named, needed));
    }
    return place;
  };

  for (const request of requests) {
    const parts = partsOf(request);
    const own = parts.map(keyPlace);
    if (request.op !== 'consume' && request.op !== 'peek') needed.add('E');
    places.push(own);
    const args: string[] = [];
    parts.forEach((part, i) => {
      args.push(String((own[i] ?? 0) + 1), String(planPlace(part.limit)));
      const isSettling = request.op === 'refund' || request.op === 'charge';
      if (request.op === 'consume' || isSettling) args.push(String(part.cost));
      if (isSettling) args.push(...request.chargedUntilMs.map(String));
      if (request.op === 'block') args.push(String(request.durationMs));
    });
    tasks.push(request.op, String(args.length), ...args);
  }

  const args = [[...needed].join(''), String(placeOfPlan.size), String(requests.length), ...plans, ...tasks];
  return { keys, args, requests, places, limits, checking, hasEditions };
}

function writePolicy({ algorithm, policy }: NamedPolicy, needed: Set<string>): readonly string[] {
  needed.add(algorithm.kind);
  return [algorithm.kind, ...algorithm.numbers(policy).map(String)];
}

const CARRY_OVER: Readonly<Record<Exclude<CarryOver, 'reset'>, string>> = { keep: 'k', proportional: 'p' };

/** Only limits of a single policy have editions in Redis: managed ones. */
function writeEdition({ edition }: Limit, needed: Set<string>): readonly string[] {
  if (edition === undefined) return ['0'];
  const written = [String(edition.version), String(edition.earlier.size)];
  for (const [version, earlier] of edition.earlier) {
    written.push(String(version));
    if (earlier === 'unknown') written.push('u');
    else if (earlier.carryOver === 'reset') written.push('r');
    else written.push(CARRY_OVER[earlier.carryOver], ...writePolicy(earlier.policies[0] as NamedPolicy, needed));
  }
  return written;
}

function writeEscalation({ escalation }: Limit): readonly string[] {
  if (escalation === undefined) return ['0'];
  const { after, blocksMs, decayMs } = escalation;
  return [blocksMs.length, after, decayMs, ...blocksMs].map(String);
}

/** How long a key is kept that is over, so that a server's clock that steps back finds what it left: a window, a minute at most. */
function keptMs({ policies }: Limit): number {
  return Math.min(Math.max(...policies.map(({ windowMs }) => windowMs)), 60_000);
}

export function partsOf(request: StoreRequest): readonly Part[] {
  return 'parts' in request ? request.parts : [request.part];
}
