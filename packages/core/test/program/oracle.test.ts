import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { readTraces, type Trace } from '../oracle/read-traces.ts';
import { TracePlayer } from './player.ts';
import { ProgramStore } from './stores.ts';

const has = (trace: Trace, ...tags: readonly string[]): boolean => tags.some((tag) => trace.tags.includes(tag));

/** What the program does otherwise than the core whose traces these are, by design. */
function isOtherwise(trace: Trace): boolean {
  // A clock that ran ahead leaves nothing behind.
  if (has(trace, 'clock-back', 'clock-ahead')) return true;
  // A state of another kind counts as none, and no state is converted when numbers change.
  if (has(trace, 'kind-change', 'numbers-change')) return true;
  // A window whose units have all been given back has ended, and a decision gets its own units of a log back, not the oldest.
  return has(trace, 'fixedWindow', 'fixedWindowClock', 'slidingLog') && has(trace, 'refund', 'reserve');
}

async function difference(trace: Trace): Promise<object[]> {
  const player = new TracePlayer(trace, new ProgramStore());
  for (const [number, step] of trace.steps.entries()) {
    const answered = await player.play(step);
    const recorded = step.figures?.policies ?? step.held;
    if (!isDeepStrictEqual(answered, recorded)) return [{ seed: trace.seed, number, step, answered, recorded }];
  }
  return [];
}

describe('the program', () => {
  it('answers the recorded traces in every figure', async () => {
    const played = readTraces().filter((trace) => !isOtherwise(trace));
    const found: object[] = [];

    for (const trace of played) found.push(...(await difference(trace)));

    expect(found).toEqual([]);
    expect(played.length).toBe(1_438);
  });
});
