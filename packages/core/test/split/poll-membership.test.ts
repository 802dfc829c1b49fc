import { describe, expect, it } from '@jest/globals';
import { Machine, useClosing, VirtualTime } from '@sluice/testkit';
import type { AskMembers } from '../../src/split/index.ts';
import { poll as pollBy } from '../../src/split/membership/poll-membership.ts';

const START_MS = 1_795_262_400_000;
const time = new VirtualTime(START_MS);
const closeLater = useClosing();

/** A membership with exact clocks, whose registry answers as the test says. */
function poll(answer: AskMembers, { everyMs = 1000, ttlMs = 3000 } = {}) {
  const machine = new Machine(time, { rate: 1, dateOffsetMs: 0 });
  const beganMs = time.nowMs;
  const polled = { askedAtMs: [] as number[], seen: [] as object[], errors: [] as string[] };
  const ask: AskMembers = (signal) => {
    polled.askedAtMs.push(time.nowMs - beganMs);
    return answer(signal);
  };
  const leave = pollBy('a', ask, { everyMs, ttlMs }, machine).join(
    (confirmation) => polled.seen.push((confirmation as { members: object }).members),
    (error) => polled.errors.push((error as Error).message),
  );
  return { ...polled, leave: closeLater(leave) };
}

const answerAfter = (ms: number, members: Record<string, number>): Promise<Record<string, number>> =>
  new Promise((resolve) => time.after(ms, () => resolve(members)));

async function pass(ms: number): Promise<void> {
  time.after(0, () => undefined); // answers that have come are heard first
  await time.runUntil(time.nowMs + ms);
}

const pausesOf = ({ askedAtMs }: ReturnType<typeof poll>): number[] =>
  askedAtMs.slice(1).map((atMs, i) => atMs - (askedAtMs[i] ?? 0));

describe('a membership by polling', () => {
  it('asks again after everyMs, varied by a tenth, however long an answer takes', async () => {
    const polled = poll(() => answerAfter(400, { a: 1 }));
    await pass(20_000);

    const pauses = pausesOf(polled);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(900);
    expect(Math.max(...pauses)).toBeLessThan(1101);
    expect(new Set(pauses).size).toBe(pauses.length);
    expect(polled.seen[0]).toEqual({ a: 1 });
  });

  it('asks as often while its last answer counts, and less often the longer the registry is away', async () => {
    const polled = poll(() => Promise.reject(new Error('the registry is away')));
    await pass(60_000);

    const pauses = pausesOf(polled);
    expect(Math.max(...pauses.slice(0, 2))).toBeLessThan(1101);
    expect(Math.max(...pauses)).toBeGreaterThan(9000);
    expect(Math.max(...pauses)).toBeLessThan(11_001);
    expect(new Set(polled.errors)).toEqual(new Set(['the registry is away']));
  });

  it('gives up a request after half of ttlMs, ends it, and ignores what it answers later', async () => {
    const signals: AbortSignal[] = [];
    const polled = poll((signal) => {
      signals.push(signal);
      return signals.length === 1 ? answerAfter(1600, { a: 9 }) : answerAfter(10, { a: 1 });
    });
    await pass(1499);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await pass(3000);

    expect(signals.slice(0, 2).map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(polled.errors).toEqual([expect.stringContaining('did not answer within 1500 ms')]);
    expect(new Set(polled.seen.map((members) => JSON.stringify(members)))).toEqual(new Set(['{"a":1}']));
  });

  it.each([
    ['no members', {}, /lists no members/],
    ['a list', ['a'], /expected an object with the weight of each member by its id/],
    ['nothing', undefined, /got undefined/],
  ])('takes %s for no answer', async (_what, answer, expected) => {
    const polled = poll(() => answer as unknown as Record<string, number>);
    await pass(10);

    expect(polled.seen).toEqual([]);
    expect(polled.errors).toEqual([expect.stringMatching(expected)]);
  });

  it('goes on after an error of the function itself', async () => {
    let asked = 0;
    const polled = poll(() => {
      if (++asked === 1) throw new Error('a bug');
      return { a: 1 };
    });
    await pass(1200);

    expect([polled.errors, polled.seen]).toEqual([['a bug'], [{ a: 1 }]]);
  });

  it('ends its request and asks no more when it leaves', async () => {
    let signal: AbortSignal | undefined;
    const polled = poll((given) => {
      signal = given;
      return new Promise(() => undefined);
    });
    await pass(100);
    await polled.leave();
    await pass(10_000);

    expect([signal?.aborted, polled.askedAtMs.length, polled.errors]).toEqual([true, 1, []]);
  });
});
