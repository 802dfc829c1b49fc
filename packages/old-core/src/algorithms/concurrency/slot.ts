import { decodePair, encodePair, toInteger } from '../instant-and-field.ts';

/** Some units of a concurrency policy, held by one holder until they are released or expire. */
export interface Slot {
  readonly expiresAtMs: number;
  readonly units: number;
  /** Digits. */
  readonly holder: string;
}

/**
 * Slots by their expiry. One entry can stand for several slots, at the expiry of the last of them, where their
 * holders do not matter: in the summary, which is one entry for all, and in the reply of the script.
 */
export type Slots = readonly Slot[];

/**
 * The holder of an entry that stands for several slots, and of a request without a holder: never equal to another.
 */
export const NO_HOLDER = '0';

export function unitsOf(slots: Slots): number {
  return slots.reduce((sum, { units }) => sum + units, 0);
}

/** The slots that have not expired. */
export function liveSlots(slots: Slots, nowMs: number): Slots {
  const [first] = slots;
  return first === undefined || first.expiresAtMs > nowMs
    ? slots
    : slots.filter(({ expiresAtMs }) => expiresAtMs > nowMs);
}

/** The slot of a known holder with exactly so many units. */
export function slotOf(slots: Slots, units: number, holder: string): Slot | undefined {
  return holder === NO_HOLDER ? undefined : slots.find((slot) => slot.holder === holder && slot.units === units);
}

export function withSlot(slots: Slots, added: Slot): Slots {
  let at = slots.length;
  while (at > 0 && (slots[at - 1] as Slot).expiresAtMs > added.expiresAtMs) at--;
  return slots.toSpliced(at, 0, added);
}

/** When so many units have expired, in the order of their expiry. */
export function expiryOf(slots: Slots, units: number): number {
  let sum = 0;
  for (const slot of slots) {
    sum += slot.units;
    if (sum >= units) return slot.expiresAtMs;
  }
  return slots.at(-1)?.expiresAtMs ?? 0;
}

export function latestExpiry(slots: Slots): number {
  return slots.at(-1)?.expiresAtMs ?? 0;
}

export function summaryOf(slots: Slots): Slots {
  return [{ expiresAtMs: latestExpiry(slots), units: unitsOf(slots), holder: NO_HOLDER }];
}

/**
 * An entry that stands for several slots is a pair; else each slot is its expiry, units and holder, separated by
 * colons.
 */
export function encodeSlots(slots: Slots): string {
  const [only] = slots;
  if (slots.length === 1 && only?.holder === NO_HOLDER) return encodePair(only.expiresAtMs, only.units);
  return slots.map(({ expiresAtMs, units, holder }) => `${String(expiresAtMs)}:${String(units)}:${holder}`).join(':');
}

export function decodeSlots(text: string): Slots | undefined {
  const fields = text.split(':');
  if (fields.length < 3) {
    const pair = decodePair(text);
    return pair && pair[1] > 0 ? [{ expiresAtMs: pair[0], units: pair[1], holder: NO_HOLDER }] : undefined;
  }
  if (fields.length % 3 !== 0) return undefined;
  const slots: Slot[] = [];
  for (let i = 0; i < fields.length; i += 3) {
    const expiresAtMs = toInteger(fields[i] as string);
    const units = toInteger(fields[i + 1] as string);
    const holder = fields[i + 2] as string;
    if (expiresAtMs === undefined || !units || !/^\d+$/.test(holder)) return undefined;
    if (expiresAtMs < (slots.at(-1)?.expiresAtMs ?? 0)) return undefined;
    slots.push({ expiresAtMs, units, holder });
  }
  return slots;
}
