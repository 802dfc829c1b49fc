/** The keys of a request: one, or with several limits one by the name of each. */
export type FoundKeys = string | Readonly<Record<string, string>>;

/** A request that has no key. */
export const NO_KEYS: FoundKeys = Object.freeze({});

/** That a layer has seen a request, and what it found. */
export interface Sighting {
  /** Who has seen it. */
  readonly by: object;
  keys: FoundKeys | undefined;
  /** What others have seen of the same request. */
  readonly before: Sighting | undefined;
}

/** Where it is kept what has been seen of a request, for as long as there is the request. */
export interface Sightings {
  of(request: object): Sighting | undefined;
  write(request: object, sighting: Sighting): void;
}

/** Makes the given object what a class that extends this one adds its private fields to. */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- it is its constructor
class Given {
  constructor(object: object) {
    return object;
  }
}

class Seen extends Given {
  #latest: Sighting | undefined;

  static of(request: object): Sighting | undefined {
    return #latest in request ? request.#latest : undefined;
  }

  static write(request: object, sighting: Sighting): void {
    const seen = #latest in request ? request : new Seen(request);
    seen.#latest = sighting;
  }
}

/**
 * On the request itself, in a private field: nobody else can see or copy it, and it can be written to what is frozen. A tenth
 * of what {@link besideRequests} costs, but where each request has a hidden class of its own.
 */
export const onRequests: Sightings = Seen;

/**
 * In a WeakMap: for requests whose prototype has been set anew, as Express does. On Node 20 each of those has a hidden class
 * of its own, and gets another one for every field that is added, private ones too.
 */
export const besideRequests: Sightings = sightingsOf(new WeakMap());

function sightingsOf(seen: WeakMap<object, Sighting>): Sightings {
  return { of: (request) => seen.get(request), write: (request, sighting) => void seen.set(request, sighting) };
}

/** What somebody has seen of a request; undefined when it has not been seen. */
export function sightingOf(sightings: Sightings, request: object, by: object): Sighting | undefined {
  let sighting = sightings.of(request);
  while (sighting !== undefined && sighting.by !== by) sighting = sighting.before;
  return sighting;
}

/** Says that somebody has seen a request now. Undefined when that has been said before. */
export function firstSighting(sightings: Sightings, request: object, by: object): Sighting | undefined {
  const before = sightings.of(request);
  if (before !== undefined && sightingOf(sightings, request, by) !== undefined) return undefined;
  const sighting: Sighting = { by, keys: undefined, before };
  sightings.write(request, sighting);
  return sighting;
}
