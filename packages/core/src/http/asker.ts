import { checkCost } from '../cost.ts';
import { newHolder } from '../holder.ts';
import { encodeSubject } from '../key.ts';
import type { AskedLimit as LimitToAsk, AskedPart } from '../managed/resolve.ts';
import type { AskedLimit } from './asked-limits.ts';
import { Asking } from './asking.ts';
import type { ClientList } from './client-list.ts';
import { eventually } from './eventually.ts';
import type { Framework } from './framework.ts';
import type { Layer } from './layer.ts';
import { mayPace } from './pacing.ts';
import { forbiddenRefusal, missingKeyRefusal, type Refusal } from './problem.ts';
import { NO_KEYS, type FoundKeys, type Sighting } from './sighting.ts';
import { mayHoldSlots } from './slots.ts';

/** What a layer answers for a request: what it wants to take, the refusal, or nothing where it does not limit. */
export type Asked<Request, Response> = Asking<Request, Response> | Refusal | undefined;

/** No subject of a request looks like this: those that begin with `#` are hashed to more characters. */
const MISSING_SUBJECT = '#missing';

/** The clients that a layer knows by name. */
interface Lists {
  readonly allow: ClientList | undefined;
  readonly deny: ClientList | undefined;
}

/** A request of which not all is known yet. */
interface Question<Request> {
  readonly request: Request;
  readonly sighting: Sighting;
  readonly parts: AskedPart[];
  readonly keys: Record<string, string>;
  /** Its address is one that is not limited: only a key that is denied can still refuse it. */
  readonly isAllowed: boolean;
  isMissing: boolean;
  isOverAtOnce: boolean;
}

/** A limit that stands alone, and of which all but the key is the same for all requests. */
interface OnlyLimit<Request> extends AskedLimit<Request> {
  readonly limit: LimitToAsk;
  readonly cost: number;
  readonly isOverAtOnce: boolean;
}

/**
 * Finds out what a layer wants to take for a request: who is on a list, who is skipped, and by which keys the others are
 * counted. At once, unless a function of the user answers a promise.
 */
export class Asker<Request, Response> {
  readonly #layer: Layer<Request, Response>;
  readonly #asked: readonly AskedLimit<Request>[];
  readonly #framework: Framework<Request, Response>;
  readonly #lists: Lists;
  /** The one limit, where all but the key is known beforehand. */
  readonly #only: OnlyLimit<Request> | undefined;

  constructor(
    layer: Layer<Request, Response>,
    asked: readonly AskedLimit<Request>[],
    framework: Framework<Request, Response>,
    lists: Lists,
  ) {
    this.#layer = layer;
    this.#asked = asked;
    this.#framework = framework;
    this.#lists = lists;
    const hasLists = lists.allow !== undefined || lists.deny !== undefined;
    this.#only = hasLists || layer.options.skip !== undefined ? undefined : onlyLimit(asked, layer.hasOneKey);
  }

  ask(request: Request, sighting: Sighting): Asked<Request, Response> | Promise<Asked<Request, Response>> {
    const only = this.#only;
    if (only === undefined) return this.#askWithLists(request, sighting);
    const key = only.readKey(request);
    return typeof key === 'object'
      ? key.then((read) => this.#askOnly(only, read, sighting))
      : this.#askOnly(only, key, sighting);
  }

  #askOnly(
    { limit, cost, onMissingKey, isOverAtOnce }: OnlyLimit<Request>,
    key: string | undefined,
    sighting: Sighting,
  ): Asked<Request, Response> {
    const keys = key ?? NO_KEYS;
    sighting.keys = keys;
    if (key === undefined) {
      if (onMissingKey === 'skip') return undefined;
      if (onMissingKey === 'deny') return this.#refuseMissing();
    }
    const subject = key === undefined ? MISSING_SUBJECT : encodeSubject(key);
    return new Asking(this.#layer, [{ limit, subject, cost }], keys, isOverAtOnce);
  }

  #askWithLists(request: Request, sighting: Sighting): Asked<Request, Response> | Promise<Asked<Request, Response>> {
    const { allow, deny } = this.#lists;
    let isAllowed = false;
    if (deny !== undefined || allow !== undefined) {
      const address = this.#framework.address(request);
      if (deny?.hasAddress(address) === true) return forbiddenRefusal();
      isAllowed = allow?.hasAddress(address) === true;
      if (isAllowed && deny?.hasKeys !== true) return undefined;
    }
    const ask = (): Asked<Request, Response> | Promise<Asked<Request, Response>> =>
      this.#askFrom(0, {
        ...{ request, sighting, isAllowed, parts: [], keys: {} },
        ...{ isMissing: false, isOverAtOnce: true },
      });
    const { skip } = this.#layer.options;
    return skip === undefined ? ask() : eventually(skip(request), (skips) => (skips ? undefined : ask()));
  }

  #askFrom(start: number, question: Question<Request>): Asked<Request, Response> | Promise<Asked<Request, Response>> {
    for (let i = start; i < this.#asked.length; i++) {
      const limit = this.#asked[i] as AskedLimit<Request>;
      const refusal = eventually(limit.readKey(question.request), (key) => this.#consider(limit, key, question));
      if (refusal instanceof Promise) return refusal.then((refused) => refused ?? this.#askFrom(i + 1, question));
      if (refusal !== undefined) return refusal;
    }
    return this.#conclude(question);
  }

  /** Adds what one limit wants. */
  #consider(
    limit: AskedLimit<Request>,
    key: string | undefined,
    question: Question<Request>,
  ): Refusal | undefined | Promise<Refusal | undefined> {
    const { allow, deny } = this.#lists;
    if (key === undefined) {
      if (limit.onMissingKey === 'skip') return undefined;
      question.isMissing ||= limit.onMissingKey === 'deny';
    } else {
      if (deny?.hasKey(key) === true) return forbiddenRefusal();
      question.keys[limit.name] = key;
      if (allow?.hasKey(key) === true) return undefined; // of this limit: others may go by what anybody can write
    }
    // Nothing is taken, but a later key may be one that is denied or allowed.
    if (question.isAllowed || question.isMissing) return undefined;
    const { request, parts } = question;
    return eventually(typeof limit.cost === 'function' ? limit.cost(request) : limit.cost, (cost) => {
      checkCost(cost);
      if (cost === 0) return undefined;
      const subject = key === undefined ? MISSING_SUBJECT : encodeSubject(key);
      return eventually(typeof limit.limit === 'function' ? limit.limit(request) : limit.limit, (found) => {
        const part = { limit: found, subject, cost };
        const mayHold = mayHoldSlots(found);
        question.isOverAtOnce &&= !mayHold && !mayPace(found);
        parts.push(mayHold ? { ...part, holder: newHolder() } : part);
        return undefined;
      });
    });
  }

  #conclude({
    sighting,
    keys,
    parts,
    isAllowed,
    isMissing,
    isOverAtOnce,
  }: Question<Request>): Asked<Request, Response> {
    const found: FoundKeys = this.#layer.hasOneKey ? (keys[this.#layer.name] ?? NO_KEYS) : keys;
    sighting.keys = found;
    if (isAllowed) return undefined;
    if (isMissing) return this.#refuseMissing();
    return parts.length === 0 ? undefined : new Asking(this.#layer, parts, found, isOverAtOnce);
  }

  #refuseMissing(): Refusal | undefined {
    return this.#layer.reports ? undefined : missingKeyRefusal();
  }
}

function onlyLimit<Request>(asked: readonly AskedLimit<Request>[], hasOneKey: boolean): OnlyLimit<Request> | undefined {
  const [first] = asked;
  if (first === undefined || !hasOneKey) return undefined;
  const { limit, cost } = first;
  if (typeof limit === 'function' || typeof cost === 'function' || mayHoldSlots(limit)) return undefined;
  return { ...first, limit, cost, isOverAtOnce: !mayPace(limit) };
}
