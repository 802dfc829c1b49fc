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

/** Makes the given object what a class that extends this one adds its private fields to. */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- it is its constructor
class Given {
  constructor(object: object) {
    return object;
  }
}

/**
 * A request that was seen. It is told on the request itself, in a private field: nobody else can see or copy it, it can be
 * written to what is frozen, and it is gone with the request. An entry of a WeakMap says as much, for ten times the price.
 */
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

/** What somebody has seen of a request; undefined when it has not been seen. */
export function sightingOf(request: object, by: object): Sighting | undefined {
  let sighting = Seen.of(request);
  while (sighting !== undefined && sighting.by !== by) sighting = sighting.before;
  return sighting;
}

/** Says that somebody has seen a request now. Undefined when that has been said before. */
export function firstSighting(request: object, by: object): Sighting | undefined {
  const before = Seen.of(request);
  if (before !== undefined && sightingOf(request, by) !== undefined) return undefined;
  const sighting: Sighting = { by, keys: undefined, before };
  Seen.write(request, sighting);
  return sighting;
}
