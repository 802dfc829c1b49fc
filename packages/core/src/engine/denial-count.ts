import { toInteger } from '../algorithms/instant-and-field.ts';
import type { Escalation } from '../values/escalate.ts';

/** What is remembered of a key that was denied: beside the states of its policies, which a denial leaves alone. */
export interface DenialCount {
  /** Since the last block. */
  readonly count: number;
  /** Blocks that they have led to. */
  readonly blocks: number;
  /** From then on none of this is known any more. */
  readonly forgottenAtMs: number;
}

const NONE: DenialCount = { count: 0, blocks: 0, forgottenAtMs: 0 };

/**
 * What is remembered after one more denial of a key that is not blocked, and until when that blocks it: 0 when it does not.
 * The twin of frame/escalation.lua.
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
      // Never sooner than was said before, also where the clock has stepped back.
      forgottenAtMs: Math.max(forgottenAtMs, (isBlocked ? blockedUntilMs : nowMs) + decayMs),
    },
    blockedUntilMs,
  };
}

/** What of it is still known at an instant. */
export function remembered(denials: DenialCount | undefined, nowMs: number): DenialCount | undefined {
  return denials !== undefined && denials.forgottenAtMs > nowMs ? denials : undefined;
}

/** Drops an ended block, and expired denials: part of every write. */
export function dropExpired(key: { blockedUntilMs: number; denials?: DenialCount | undefined }, nowMs: number): void {
  if (key.blockedUntilMs <= nowMs) key.blockedUntilMs = 0;
  if (key.denials !== undefined) key.denials = remembered(key.denials, nowMs);
}

/** What is left of it when the key's units are forgotten: the blocks. */
export function withoutCount(denials: DenialCount | undefined): DenialCount | undefined {
  return denials === undefined || denials.blocks === 0 ? undefined : { ...denials, count: 0 };
}

/** `^<count>:<blocks>:<forgotten at>^`, what stands ahead of the states in Redis; nothing where nothing is known. */
export function encodeDenialCount(denials: DenialCount | undefined): string {
  if (denials === undefined) return '';
  return `^${String(denials.count)}:${String(denials.blocks)}:${String(denials.forgottenAtMs)}^`;
}

/** What {@link encodeDenialCount} wrote between its `^`, or undefined when the text is something else. */
export function decodeDenialCount(text: string): DenialCount | undefined {
  const fields = text.split(':');
  const [count, blocks, forgottenAtMs] = fields.map(toInteger);
  if (fields.length !== 3 || count === undefined || blocks === undefined || forgottenAtMs === undefined) {
    return undefined;
  }
  return { count, blocks, forgottenAtMs };
}
