import { checkCost } from '../values/cost.ts';
import { readSubject } from '../values/key.ts';
import { newHolder } from '../limiter/holder.ts';
import type { Limit } from '../limiter/limits.ts';
import type { AnyReader } from './framework.ts';
import { mapMaybe, type MaybePromise } from './maybe.ts';
import { denied, type Call, type Plan } from './plan.ts';
import type { HttpLimit, PlacedLimits } from './place.ts';
import { forbiddenDenial, missingKeyDenial } from './response/denial.ts';

/** What happens to a request from here on. */
export type Step = (call: Call) => MaybePromise<Plan>;

/** The subject of all requests without a key. No caller's key can equal it: a key that begins with `#` is hashed. */
const MISSING = '#missing';

/**
 * The steps of one place, without those for options that are not set. A request that skips its limits continues after
 * them.
 */
export function stepsThrough(place: PlacedLimits, framework: AnyReader, next: Step): Step {
  const { allow, deny, skip, status } = place.settings;
  const limits = place.limits.reduceRight((after, limit) => makeStep(place, limit, framework, after), next);
  const unlessSkipped: Step =
    skip === undefined
      ? limits
      : (call) => mapMaybe(skip(call.request, call.argument), (skips) => (skips ? next(call) : limits(call)));
  const hasLists = allow !== undefined || deny !== undefined;
  if (!hasLists && skip === undefined && place.limits[0]?.readsAddressFirst === true) return limits;
  return (call) => {
    // Read before the first await: the socket holds it, and once the client is gone it is unknown.
    const address = framework.address(call.request);
    if (deny?.hasAddress(address) === true) return denied(forbiddenDenial(status), place.settings);
    return deny?.hasKeys !== true && allow?.hasAddress(address) === true ? next(call) : unlessSkipped(call);
  };
}

/** Adds what the request takes from one limit, or denies the request. */
function makeStep({ settings }: PlacedLimits, own: HttpLimit, framework: AnyReader, next: Step): Step {
  const { allow, deny, status, refund } = settings;
  const { name, limit, cost, readKey, reader, onMissingKey } = own;
  const add = (call: Call, key: string | undefined, picked: Limit, units: number): MaybePromise<Plan> => {
    const subject = key === undefined ? MISSING : readSubject(key);
    const holder = picked.mayHold ? newHolder() : 0;
    call.settings = settings;
    call.wants.push({ limit: picked, key: key ?? '', subject, cost: units, holder, isNamed: false, refund });
    return next(call);
  };
  const pick = (call: Call, key: string | undefined): MaybePromise<Plan> => {
    const { request, argument } = call;
    return mapMaybe(typeof cost === 'number' ? cost : cost(request, argument), (units) => {
      checkCost(units);
      if (units === 0) return next(call);
      const picked = typeof limit === 'function' ? limit(request, argument) : limit;
      return mapMaybe(picked, (one) => add(call, key, one, units));
    });
  };
  const want = (call: Call, key: string | undefined): MaybePromise<Plan> => {
    if (key !== undefined) {
      call.found[name] = key;
      if (deny?.hasKey(key) === true) return denied(forbiddenDenial(status), settings);
      // Skips only this limit: any client may be able to send the keys of other limits.
      if (allow?.hasKey(key) === true) return next(call);
    }
    if (deny?.hasKeys === true && allow?.hasAddress(framework.address(call.request)) === true) return next(call);
    if (key === undefined && onMissingKey === 'skip') return next(call);
    if (key === undefined && onMissingKey === 'deny') return denied(missingKeyDenial(status), settings);
    return typeof limit !== 'function' && typeof cost === 'number' ? add(call, key, limit, cost) : pick(call, key);
  };
  return (call) => {
    const key = readKey(call.request, reader, call.argument);
    return typeof key === 'object' ? key.then((late) => want(call, late)) : want(call, key);
  };
}
