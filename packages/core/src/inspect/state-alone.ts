import type { ConcurrencyState } from '../algorithms/concurrency/kernel.ts';
import { latestExpiry, liveSlots, unitsOf } from '../algorithms/concurrency/slot.ts';
import type { FixedWindowState } from '../algorithms/fixed-window/kernel.ts';
import type { AnyAlgorithm } from '../algorithms/index.ts';
import type { LeakyBucketState } from '../algorithms/leaky-bucket/kernel.ts';
import * as slidingCounter from '../algorithms/sliding-counter/kernel.ts';
import type { SlidingCounterPolicy } from '../algorithms/sliding-counter/policy.ts';
import { resetAtMs, usedOfSlidingWindow, type SlidingWindowState } from '../algorithms/sliding-window/kernel.ts';
import type { SlidingWindowPolicy } from '../algorithms/sliding-window/policy.ts';
import type { TokenBucketState } from '../algorithms/token-bucket/kernel.ts';

/** What can be told of a state without the numbers of its policy; null for what cannot. */
export interface StateAlone {
  readonly used: number | null;
  readonly resetAtMs: number | null;
}

type Reader = (state: never, nowMs: number) => StateAlone;

/** By algorithm. One that is not here tells nothing by its state alone. */
const readers: Readonly<Record<string, Reader>> = {
  fixedWindow: ({ endMs, used }: FixedWindowState, nowMs): StateAlone => ({
    used: nowMs < endMs ? used : 0,
    resetAtMs: endMs,
  }),
  slidingWindow: (state: SlidingWindowState, nowMs): StateAlone => {
    const policy: SlidingWindowPolicy = {
      algorithm: 'slidingWindow',
      limit: 1,
      windowMs: state.blockMs * state.blocks,
      precisionMs: state.blockMs,
    };
    return { used: usedOfSlidingWindow(policy, state, nowMs), resetAtMs: resetAtMs(policy, state) };
  },
  slidingCounter: (state: slidingCounter.SlidingCounterState, nowMs): StateAlone => {
    const policy: SlidingCounterPolicy = { algorithm: 'slidingCounter', limit: 1, windowMs: state.windowMs };
    return {
      used: slidingCounter.usedOfSlidingCounter(policy, state, nowMs),
      resetAtMs: slidingCounter.resetAtMs(policy, state),
    };
  },
  concurrency: (slots: ConcurrencyState, nowMs): StateAlone => ({
    used: unitsOf(liveSlots(slots, nowMs)),
    resetAtMs: latestExpiry(slots),
  }),
  tokenBucket: ({ fullAtMs, part }: TokenBucketState, nowMs) => untilInstant(fullAtMs, part, nowMs),
  leakyBucket: ({ freeAtMs, part }: LeakyBucketState, nowMs) => untilInstant(freeAtMs, part, nowMs),
};

/** How many units a time stands for is told by the rate. */
function untilInstant(instantMs: number, part: number, nowMs: number): StateAlone {
  const isOverAtMs = part > 0 ? instantMs + 1 : instantMs;
  return { used: isOverAtMs <= nowMs ? 0 : null, resetAtMs: isOverAtMs };
}

/** What a state says when nobody knows the limit. */
export function stateAlone({ name }: AnyAlgorithm, state: unknown, nowMs: number): StateAlone {
  const read = Object.hasOwn(readers, name) ? readers[name] : undefined;
  return read === undefined ? { used: null, resetAtMs: null } : read(state as never, nowMs);
}
