import type { NamedPolicy } from '../../policy.ts';
import type { CarryOver, Limit, Part, StoreRequest } from '../store.ts';
import { keptMs, writePolicy } from './write-policy.ts';

/** One script call: what goes out, and what is needed to read what comes back. */
export interface Call {
  readonly keys: readonly string[];
  /** Keys of their own for long states, behind the others. */
  readonly details: readonly string[];
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

/** Writes requests as frame/call.lua and frame.lua read them. */
export function writeCall(requests: readonly StoreRequest[], prefix: string, checking: boolean): Call {
  const keys: string[] = [];
  const limits: Limit[] = [];
  const places: number[][] = [];
  const placeOfKey = new Map<string, number>();
  const details = new Map<string, readonly string[]>();
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
  const hasDetails = requests.some((request) => partsOf(request).some(({ limit }) => detailsOf(limit).length > 0));
  if (hasDetails) needed.add('D');
  const noteDetails = (key: string, place: number, limit: Limit): void => {
    for (const [kind, policyPlace] of detailsOf(limit)) {
      details.set(`${key}:${kind}${policyPlace}`, [String(place + 1), kind, policyPlace]);
    }
  };
  const keyPlace = ({ subject, limit }: Part): number => {
    const key = `${prefix}:{${subject}}${limit.scope}`;
    let place = placeOfKey.get(key);
    if (place === undefined) {
      place = keys.push(key) - 1;
      limits.push(limit);
      placeOfKey.set(key, place);
    }
    if (hasDetails) noteDetails(key, place, limit);
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
      if (takesCost(request, hasDetails)) args.push(String(part.cost));
      if (request.op === 'refund' || request.op === 'charge') args.push(...request.chargedUntilMs.map(String));
      if (request.op === 'block') args.push(String(request.durationMs));
      if (hasDetails) args.push(part.holder ?? NOBODY);
      if (request.op === 'refund' && request.byMs !== undefined) args.push(String(request.byMs));
    });
    tasks.push(request.op, String(args.length), ...args);
  }

  const counts = [String(placeOfPlan.size), String(requests.length)];
  if (hasDetails) counts.push(String(details.size), ...[...details.values()].flat());
  const args = [[...needed].join(''), ...counts, ...plans, ...tasks];
  return { keys, details: [...details.keys()], args, requests, places, limits, checking, hasEditions };
}

const NOBODY = '0';

/** Edits of the key as a whole take no units, and a peek only where its script looks at long states. */
function takesCost({ op }: StoreRequest, hasDetails: boolean): boolean {
  return op === 'peek' ? hasDetails : op !== 'reset' && op !== 'block' && op !== 'unblock';
}

type Detail = readonly [kind: string, place: string];
const known = new WeakMap<Limit, readonly Detail[]>();

/** The kind and place of each policy of a limit, or of the editions that it is converted from, whose states are long. */
function detailsOf(limit: Limit): readonly Detail[] {
  let details = known.get(limit);
  if (details === undefined) known.set(limit, (details = findDetails(limit)));
  return details;
}

function findDetails({ policies, edition }: Limit): readonly Detail[] {
  const found: Detail[] = [];
  const note = ({ algorithm }: NamedPolicy, i: number): void => {
    if (algorithm.outline !== undefined) found.push([algorithm.kind, String(i + 1)]);
  };
  policies.forEach(note);
  for (const earlier of edition?.earlier.values() ?? []) if (earlier !== 'unknown') earlier.policies.forEach(note);
  return found;
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

export function partsOf(request: StoreRequest): readonly Part[] {
  return 'parts' in request ? request.parts : [request.part];
}
