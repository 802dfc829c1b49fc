import * as core from '../../src/index.ts';

/** At most these units in any interval of this length, or in any window of the clock; or one more per `everyMs`. */
export type Bound =
  | { readonly units: number; readonly inMs: number; readonly onClock?: true }
  | { readonly units: number; readonly everyMs: number };

/** A kind with two pairs of numbers: half of the processes use the one, half the other, on the same keys. */
export interface Kind {
  readonly policies: readonly [core.Policy, core.Policy];
  /** What the two together may allow. */
  readonly bounds: readonly Bound[];
  /** When units are back at the latest, by the slower of the two. `spare`: units that rounding keeps longer. */
  readonly back: { readonly afterMs: number } | { readonly everyMs: number; readonly spare: number };
}

export type KindName = 'window' | 'clock' | 'sliding' | 'counter' | 'log' | 'bucket' | 'interval' | 'leaky';

const two = <Numbers>(make: (numbers: Numbers) => core.Policy, one: Numbers, other: Numbers): Kind['policies'] => [
  make(one),
  make(other),
];
const long = { limit: 12, window: '500ms' } as const;
const short = { limit: 8, window: '300ms' } as const;
const lower = { limit: 8, window: '500ms' } as const;
/** When the longer has asked nothing for its window, the shorter keeps no more than its own, of which the longer adds to 8. */
const ANY = [
  { units: 12, inMs: 300 },
  { units: 20, inMs: 500 },
];
const ON_CLOCK = { units: 12, inMs: 500, onClock: true } as const;

export const KINDS: Readonly<Record<KindName, Kind>> = {
  // Not 23: the unit that began a window may have been given back.
  window: { policies: two(core.fixedWindow, long, lower), bounds: [{ units: 24, inMs: 500 }], back: { afterMs: 500 } },
  clock: {
    policies: two(core.fixedWindow, { ...long, align: 'clock' }, { ...lower, align: 'clock' }),
    ...{ bounds: [ON_CLOCK], back: { afterMs: 500 } },
  },
  sliding: {
    policies: two(core.slidingWindow, long, { ...short, precision: '20ms' }),
    ...{ bounds: ANY, back: { afterMs: 550 } },
  },
  counter: {
    policies: two(core.slidingCounter, long, lower),
    ...{ bounds: [ON_CLOCK, { units: 23, inMs: 500 }], back: { afterMs: 1000 } },
  },
  log: { policies: two(core.slidingLog, long, short), bounds: ANY, back: { afterMs: 500 } },
  bucket: {
    policies: two(
      core.tokenBucket,
      { capacity: 12, refill: 12, every: '600ms' },
      { capacity: 8, refill: 10, every: '600ms' },
    ),
    ...{ bounds: [{ units: 12, everyMs: 50 }], back: { everyMs: 60, spare: 1 } },
  },
  interval: {
    policies: two(
      ({ units }) => core.tokenBucket({ capacity: 2 * units, refill: units, every: '250ms', mode: 'interval' }),
      ...([{ units: 6 }, { units: 4 }] as const),
    ),
    ...{ bounds: [{ units: 18, everyMs: 250 / 6 }], back: { everyMs: 250 / 4, spare: 6 } },
  },
  leaky: {
    policies: two(
      ({ limit }) => core.leakyBucket({ limit, window: '1s', maxDelay: '300ms' }),
      ...([{ limit: 20 }, { limit: 25 }] as const),
    ),
    ...{ bounds: [{ units: 8.5, everyMs: 40 }], back: { everyMs: 50, spare: 1 } },
  },
};

/** Limits of one decision, of keys that a cluster has on several nodes. */
export const SEVERAL = ['window', 'sliding', 'bucket'] as const;

export const TTL_MS = 400;
const ttl = '400ms';
export const SLOTS = [core.concurrency({ limit: 6, ttl }), core.concurrency({ limit: 4, ttl })] as const;
