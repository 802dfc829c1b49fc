import type { Decision } from '@sluice/old-core';
import { holdsSlots, type HeldPart, type LimitRef, type UnresolvedEdit } from '@sluice/old-core/spi';
import type { Service } from '../../service.ts';
import { isName, limitNamed, unknownText } from './reservations.ts';

/** Slots, as the client keeps them: the name of the limit, the subject, the holder and the number of slots. */
type Held = readonly (readonly [name: string, subject: string, holder: string, cost: number])[];

const KIND = 'slot';
const HOLDER = /^\d{1,40}$/;

/** Slots that clients of this service and its siblings hold: the client has all that is known of one. */
export class HeldSlots {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  /**
   * A text to release and renew by; null where nothing was taken, or not from the store.
   *
   * @param names - Those of the limits of the parts.
   */
  written(decision: Decision, parts: readonly HeldPart[], names: readonly string[]): string | null {
    const { core, access } = this.#service;
    if (core.settlements.receipts.chargedUntilOf(decision) === undefined) return null;
    const held: Held = parts.flatMap(({ limit, subject, holder, cost }, i) =>
      hasSlots(limit) ? [[names[i] ?? '', subject, holder, cost]] : [],
    );
    return access.seal.close(KIND, held);
  }

  /** Releases them. Again, it does nothing. */
  async release(sealed: string, isTrusted: boolean): Promise<void> {
    await this.#service.core.settle(this.#edits('release', sealed, isTrusted));
  }

  /** Makes them expire a `ttl` from now. Returns whether all of them were still held. */
  async renew(sealed: string, isTrusted: boolean): Promise<boolean> {
    const answers = await this.#service.core.settle(this.#edits('renew', sealed, isTrusted));
    return answers.length > 0 && answers.every(({ held }) => held === true);
  }

  #edits(op: 'release' | 'renew', sealed: string, isTrusted: boolean): readonly UnresolvedEdit[] {
    const held = this.#service.access.seal.open(KIND, sealed, isTrusted);
    if (!areHeld(held)) throw unknownText(KIND, 'acquire');
    return held.map(([name, subject, holder, cost]) => ({
      op,
      part: { limit: limitNamed(name, this.#service), subject, holder, cost },
    }));
  }
}

/** Whether a text that was opened names slots: callers that may do all of this in any case can write such texts. */
function areHeld(opened: unknown): opened is Held {
  if (!Array.isArray(opened)) return false;
  return opened.every((one: unknown) => {
    if (!Array.isArray(one)) return false;
    const [name, subject, holder, cost] = one as readonly unknown[];
    return isName(name) && isName(subject) && isName(holder) && HOLDER.test(holder) && Number.isSafeInteger(cost);
  });
}

function hasSlots(limit: LimitRef): boolean {
  const current = 'policies' in limit ? limit : limit.current();
  return current !== undefined && holdsSlots(current.policies);
}
