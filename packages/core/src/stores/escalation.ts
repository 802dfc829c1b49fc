import { toInteger } from '../algorithms/instant-and-field.ts';
import type { Escalation } from '../escalate.ts';

/** What is remembered of a key that was refused: beside the states of its policies, which a refusal leaves alone. */
export interface Refusals {
  /** Since the last block. */
  readonly count: number;
  /** Blocks that they have led to. */
  readonly blocks: number;
  /** From then on none of this is known any more. */
  readonly forgottenAtMs: number;
}

const NONE: Refusals = { count: 0, blocks: 0, forgottenAtMs: 0 };

/**
 * What is remembered after one more refusal of a key that is not blocked, and until when that blocks it: 0 when it does not.
 * The twin of frame/escalation.lua.
 */
export function afterRefusal(
  { after, blocksMs, decayMs }: Escalation,
  before: Refusals | undefined,
  nowMs: number,
): { readonly refusals: Refusals; readonly blockedUntilMs: number } {
  const { count, blocks, forgottenAtMs } = remembered(before, nowMs) ?? NONE;
  const isBlocked = count + 1 >= after;
  const blockedUntilMs = isBlocked ? nowMs + (blocksMs[Math.min(blocks, blocksMs.length - 1)] as number) : 0;
  return {
    refusals: {
      count: isBlocked ? 0 : count + 1,
      blocks: isBlocked ? blocks + 1 : blocks,
      // Never sooner than was said before, also where the clock has stepped back.
      forgottenAtMs: Math.max(forgottenAtMs, (isBlocked ? blockedUntilMs : nowMs) + decayMs),
    },
    blockedUntilMs,
  };
}

/** What of it is still known at an instant. */
export function remembered(refusals: Refusals | undefined, nowMs: number): Refusals | undefined {
  return refusals !== undefined && refusals.forgottenAtMs > nowMs ? refusals : undefined;
}

/** Forgets a block that is over, and refusals that nobody knows any more: they go with whatever is written. */
export function dropWhatIsOver(key: { blockedUntilMs: number; refusals?: Refusals | undefined }, nowMs: number): void {
  if (key.blockedUntilMs <= nowMs) key.blockedUntilMs = 0;
  if (key.refusals !== undefined) key.refusals = remembered(key.refusals, nowMs);
}

/** What is left of it when the key's units are forgotten: the blocks. */
export function withoutCount(refusals: Refusals | undefined): Refusals | undefined {
  return refusals === undefined || refusals.blocks === 0 ? undefined : { ...refusals, count: 0 };
}

/** `^<count>:<blocks>:<forgotten at>^`, what stands ahead of the states in Redis; nothing where nothing is known. */
export function encodeRefusals(refusals: Refusals | undefined): string {
  if (refusals === undefined) return '';
  return `^${String(refusals.count)}:${String(refusals.blocks)}:${String(refusals.forgottenAtMs)}^`;
}

/** What {@link encodeRefusals} wrote between its `^`, or undefined when the text is something else. */
export function decodeRefusals(text: string): Refusals | undefined {
  const fields = text.split(':');
  const [count, blocks, forgottenAtMs] = fields.map(toInteger);
  if (fields.length !== 3 || count === undefined || blocks === undefined || forgottenAtMs === undefined) {
    return undefined;
  }
  return { count, blocks, forgottenAtMs };
}
