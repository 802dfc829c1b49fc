import { LONGEST_TIMER_MS } from '../../platform/clock.ts';
import { detached } from '../../platform/detached.ts';
import type { EditingRequest, Store } from '../../engine/store.ts';

/** One of the acquisitions that hold the same slots. */
interface Acquirer {
  hasReleased: boolean;
  /** Called once the slots are released, or have expired. */
  readonly ended: () => void;
}

/** The same slots, held by all acquisitions of one holder in this process. */
interface SharedSlots {
  readonly acquirers: Set<Acquirer>;
  expiry: ReturnType<typeof setTimeout> | undefined;
}

const slotsByStore = new WeakMap<Store, Map<string, SharedSlots>>();

/** The state of one acquisition of slots. */
export interface AcquiredSlots {
  /** Whether this acquisition has released them, or they have expired. */
  hasEnded(): boolean;
  /** Call this when they were renewed. */
  renewed(): void;
  /** Call this before they are released. Returns false where another acquisition of the same holder holds them. */
  leave(): boolean;
  /** Call this when this acquisition has nothing left to release. */
  end(): void;
}

/**
 * Registers an acquisition of slots, so that the last one of their holder releases them. It is forgotten a `ttl` after
 * the last renewal, because its slots have expired by then.
 *
 * @param releases - The requests that release the slots.
 * @param ended - Called once, after {@link AcquiredSlots.end} or when the slots have expired.
 */
export function registerSlots(
  store: Store,
  releases: readonly EditingRequest[],
  ttlMs: () => number,
  ended: () => void,
): AcquiredSlots {
  const known = slotsByStore.get(store) ?? new Map<string, SharedSlots>();
  slotsByStore.set(store, known);
  const id = releases.map(({ part }) => [part.limit.keySuffix, part.subject, part.holder, part.cost].join(' ')).join();
  const shared = known.get(id) ?? { acquirers: new Set(), expiry: undefined };
  known.set(id, shared);
  const acquirer: Acquirer = { hasReleased: false, ended };
  shared.acquirers.add(acquirer);

  const forget = (gone: Acquirer): void => {
    if (!shared.acquirers.delete(gone)) return;
    if (shared.acquirers.size === 0) {
      clearTimeout(shared.expiry);
      known.delete(id);
    }
    gone.ended();
  };
  const renewed = (): void => {
    clearTimeout(shared.expiry);
    const expire = (): void => {
      shared.acquirers.forEach(forget);
    };
    shared.expiry = detached(() => setTimeout(expire, Math.min(ttlMs(), LONGEST_TIMER_MS)).unref());
  };
  renewed();
  return {
    hasEnded: () => !shared.acquirers.has(acquirer),
    renewed,
    leave: () => {
      acquirer.hasReleased = true;
      return [...shared.acquirers].every(({ hasReleased }) => hasReleased);
    },
    end: () => {
      forget(acquirer);
    },
  };
}
