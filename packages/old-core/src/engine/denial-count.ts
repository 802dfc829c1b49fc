import { toInteger } from '../algorithms/instant-and-field.ts';
import type { Escalation } from '../values/escalate.ts';

/** The counted denials of a key. A denial changes these, and never the states of the policies. */
export interface DenialCount {
  /** Since the last block. */
  readonly count: number;
  /** Blocks that denials have caused. */
  readonly blocks: number;
  /** From then on the count is as if there had been no denial. */
  readonly forgottenAtMs: number;
}

const NONE: DenialCount = { count: 0, blocks: 0, forgottenAtMs: 0 };

/**
 * The count after one more denial of a key that is not blocked, and the end of the block that it causes: 0 for none.
 * The twin of `escalation.lua`.
 */
export function afterDenial(
  { after, blocksMs, decayMs }: Escalation,
  before: DenialCount | undefined,
  nowMs: number,
): { readonly denials: DenialCount; readonly blockedUntilMs: number } {
  const { count, blocks, forgottenAtMs } = remembered(before, nowMs) ?? NONE;
  const isBlocked = count + 1 >= after;
  const blockedUntilMs = isBlocked ? nowMs + (blocksMs[Math.min(blocks, blocksMs.length - 1)] as number) : 0;
  return {
    denials: {
      count: isBlocked ? 0 : count + 1,
      blocks: isBlocked ? blocks + 1 : blocks,
      // Never earlier than before, even where the clock has stepped back.
      forgottenAtMs: Math.max(forgottenAtMs, (isBlocked ? blockedUntilMs : nowMs) + decayMs),
    },
    blockedUntilMs,
  };
}

/** The count, if it has not expired at an instant. */
export function remembered(denials: DenialCount | undefined, nowMs: number): DenialCount | undefined {
  return denials !== undefined && denials.forgottenAtMs > nowMs ? denials : undefined;
}

/** Drops an ended block, and expired denials: part of every write. */
export function dropExpired(key: { blockedUntilMs: number; denials?: DenialCount | undefined }, nowMs: number): void {
  if (key.blockedUntilMs <= nowMs) key.blockedUntilMs = 0;
  if (key.denials !== undefined) key.denials = remembered(key.denials, nowMs);
}

/** A reset keeps only the number of blocks. */
export function withoutCount(denials: DenialCount | undefined): DenialCount | undefined {
  return denials === undefined || denials.blocks === 0 ? undefined : { ...denials, count: 0 };
}

/** `^<count>:<blocks>:<forgotten at>^`, which precedes the states in Redis; empty without denials. */
export function encodeDenialCount(denials: DenialCount | undefined): string {
  if (denials === undefined) return '';
  return `^${String(denials.count)}:${String(denials.blocks)}:${String(denials.forgottenAtMs)}^`;
}

/** Reads what {@link encodeDenialCount} wrote between its `^`; undefined for any other text. */
export function decodeDenialCount(text: string): DenialCount | undefined {
  const fields = text.split(':');
  const [count, blocks, forgottenAtMs] = fields.map(toInteger);
  if (fields.length !== 3 || count === undefined || blocks === undefined || forgottenAtMs === undefined) {
    return undefined;
  }
  return { count, blocks, forgottenAtMs };
}
