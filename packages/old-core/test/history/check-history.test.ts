import { describe, expect, it } from '@jest/globals';
import { fixedWindow, slidingWindow } from '@sluice/old-core';
import { checkHistory } from './check-history.ts';
import type { Call, History, Reply } from './history.ts';

/** Two units per window of 100 ms, from the first unit on. */
const policies = { key: [fixedWindow({ limit: 2, window: 100 })] };

/** The reply of the policy at an instant, in a window with this end and this much remaining. */
function reply(allowed: boolean, atMs: number, remaining: number, endMs: number): Reply {
  const resetAfterMs = Math.max(endMs - atMs, 0);
  const nextAfterMs = remaining === 2 ? null : resetAfterMs;
  const retryAfterMs = allowed ? 0 : resetAfterMs;
  return { allowed, atMs, policies: [{ allowed, remaining, retryAfterMs, resetAfterMs, nextAfterMs }] };
}

const allowed = (atMs: number, remaining: number, endMs: number): Reply => reply(true, atMs, remaining, endMs);
const denied = (atMs: number, endMs: number): Reply => reply(false, atMs, 0, endMs);

/** A call of one unit, in a history where the clocks of machine and server agree. */
function call(op: Call['op'], invokedMs: number, what: Partial<Call> = {}): Call {
  return { op, process: 1, key: 'key', cost: 1, invokedMs, endedMs: invokedMs + 0.5, end: 'answered', ...what };
}

/** A consume with this reply, without delay. */
function consume(answer: Reply, what: Partial<Call> = {}): Call {
  return call('consume', answer.atMs, { reply: answer, ...what });
}

/** One that timed out. */
const unknown = (invokedMs: number, what: Partial<Call> = {}): Call =>
  call('consume', invokedMs, { process: 9, end: 'unknown', endedMs: invokedMs + 10, ...what });

function defectsOf(calls: readonly Call[], rest: Partial<History> = {}): readonly string[] {
  return checkHistory({ policies, sinceMs: 990, cuts: [], stopped: [], calls, ...rest }).defects;
}

const first = allowed(1000, 1, 1100);
const second = allowed(1010, 0, 1100);

describe('a history is accepted', () => {
  it('in which the limit is allowed, more is denied, and the next window begins', () => {
    expect(defectsOf([first, second, denied(1050, 1100), allowed(1100, 1, 1200)].map((one) => consume(one)))).toEqual(
      [],
    );
  });

  it('whose decisions of one instant are explained in another order than they were recorded in', () => {
    const calls = [denied(1000, 1100), allowed(1000, 0, 1100), allowed(1000, 1, 1100)].map((one) =>
      consume(one, { endedMs: 1002 }),
    );

    expect(defectsOf(calls)).toEqual([]);
  });

  it.each([
    ['counted', [consume(first), unknown(1005), consume(denied(1020, 1100))]],
    ['did not count', [consume(first), unknown(1005), consume(allowed(1020, 0, 1100))]],
    ['counted late', [consume(first), unknown(1005), consume(second), consume(allowed(1150, 0, 1240))]],
    ['opened the window', [unknown(1000), consume(allowed(1020, 0, 1107))]],
  ])('with a call of unknown end that %s', (_how, calls) => {
    expect(defectsOf(calls)).toEqual([]);
  });

  it('with a refund, and what was allowed thanks to it', () => {
    const calls = [
      consume(first),
      consume(second),
      call('refund', 1020, { charge: first }),
      consume(allowed(1030, 0, 1100)),
      consume(denied(1040, 1100)),
    ];

    expect(defectsOf(calls)).toEqual([]);
  });

  it('with a refund of unknown end that counted between two decisions of one instant, the later one a denial', () => {
    const calls = [
      consume(first),
      call('refund', 1005, { process: 2, charge: first, end: 'unknown', endedMs: 1015 }),
      consume(allowed(1020, 0, 1100), { endedMs: 1022 }),
      consume(reply(false, 1020, 1, 1100), { process: 2, cost: 2, endedMs: 1022 }),
      consume(allowed(1020, 0, 1100), { process: 3, endedMs: 1022 }),
    ];

    expect(defectsOf(calls)).toEqual([]);
  });

  it('with a reset at some instant between two decisions', () => {
    expect(defectsOf([consume(first), consume(second), call('reset', 1015), consume(allowed(1020, 1, 1120))])).toEqual(
      [],
    );
  });

  it('that begins again where the server lost its memory', () => {
    const cuts = [{ atMs: 1015, lostMs: 1015 }];

    expect(defectsOf([consume(first), consume(second), consume(allowed(1020, 1, 1120))], { cuts })).toEqual([]);
  });
});

describe('a history of calls that take several ways to the server', () => {
  const overtaken = (atMs: number): readonly Call[] => [
    consume(first),
    unknown(1002),
    consume(allowed(1020, 0, 1100), { process: 9 }),
    consume(allowed(atMs, 0, atMs + 97)),
  ];

  it('is accepted with an unknown call that counted after a later one of its process', () => {
    expect(defectsOf(overtaken(1103), { lateMs: 100 })).toEqual([]);
    expect(defectsOf(overtaken(1103))).toHaveLength(1);
  });

  it('is rejected where it counted later than it can wait', () => {
    const calls = [...overtaken(1103), call('peek', 1060, { reply: denied(1060, 1100) })];

    expect(defectsOf(calls, { lateMs: 100 })).toEqual([]);
    expect(defectsOf(calls, { lateMs: 20 })).toHaveLength(1);
  });

  it('is accepted with an unknown call that waited until the server had begun again', () => {
    const calls = [consume(first), unknown(1005), consume(allowed(1040, 0, 1130))];
    const cuts = [{ atMs: 1018, lostMs: 1018 }];

    expect(defectsOf(calls, { cuts, lateMs: 50 })).toEqual([]);
    expect(defectsOf(calls, { cuts })).toHaveLength(1);
  });

  it('is rejected where an unknown call counted twice', () => {
    const calls = [consume(first), unknown(1005), consume(denied(1020, 1100)), consume(allowed(1150, 0, 1240))];

    expect(defectsOf(calls, { lateMs: 500 })).toHaveLength(1);
  });
});

describe('a history is rejected', () => {
  it.each<[string, readonly Call[]]>([
    ['one unit more than the limit was allowed', [first, second, allowed(1050, 0, 1100)].map((one) => consume(one))],
    ['a denial was wrong', [consume(first), consume(denied(1010, 1100))]],
    ['a window went on after its end', [first, second, denied(1100, 1101)].map((one) => consume(one))],
    ['a unit was lost', [consume(first), consume(allowed(1010, 1, 1100))]],
    ['the state was forgotten', [first, second, allowed(1020, 1, 1120)].map((one) => consume(one))],
    ['a wait was a millisecond too short', [first, second, denied(1050, 1099)].map((one) => consume(one))],
    ['a denial counted', [first, second, denied(1050, 1100), allowed(1100, 0, 1200)].map((one) => consume(one))],
    ['a peek counted', [call('peek', 1000, { reply: allowed(1000, 2, 1000) }), consume(allowed(1001, 0, 1101))]],
    ['a call that was never sent counted', [call('consume', 1000, { end: 'unsent' }), consume(allowed(1001, 0, 1101))]],
    ['an unknown call counted before it was invoked', [consume(first), consume(denied(1010, 1100)), unknown(1012)]],
    [
      'an unknown call counted twice',
      [consume(first), unknown(1005), consume(denied(1020, 1100)), consume(allowed(1150, 0, 1240))],
    ],
    [
      'an unknown call counted after a later one of its process was answered',
      [consume(first), unknown(1002), consume(allowed(1020, 0, 1100), { process: 9 }), consume(allowed(1100, 0, 1200))],
    ],
    [
      'a refund counted twice',
      [consume(first), consume(second), call('refund', 1020, { charge: first }), consume(allowed(1030, 1, 1100))],
    ],
    [
      'a refund did not count',
      [consume(first), call('refund', 1020, { charge: first }), consume(allowed(1030, 0, 1100))],
    ],
    [
      'a refund of a window that had ended counted',
      [consume(first), consume(allowed(1100, 1, 1200))]
        .concat(call('refund', 1120, { charge: first }))
        .concat(consume(allowed(1130, 1, 1200))),
    ],
    ['a reset did not count', [consume(first), call('reset', 1005), consume(second)]],
  ])('in which %s', (_what, calls) => {
    expect(defectsOf(calls)).toEqual([expect.stringContaining('no order of the calls explains')]);
  });

  it('in which a decision went back in time, on whatever key', () => {
    const calls = [
      consume(allowed(1000, 1, 1100)),
      consume(allowed(999, 1, 1099), { key: 'other', invokedMs: 1001, endedMs: 1002 }),
    ];

    expect(defectsOf(calls, { policies: { ...policies, other: policies.key } })).toEqual([
      expect.stringContaining('time went back'),
    ]);
  });

  it('in which an interval has more than the bound, counted separately', () => {
    const sliding = { key: [slidingWindow({ limit: 1, window: 100 })] };
    const at = (atMs: number): Reply => ({
      allowed: true,
      atMs,
      policies: [{ allowed: true, remaining: 0, retryAfterMs: 0, resetAfterMs: 110, nextAfterMs: 110 }],
    });

    expect(defectsOf([consume(at(1000)), consume(at(1090))], { policies: sliding })).toEqual([
      expect.stringContaining('no order of the calls explains'),
      expect.stringContaining('more than'),
    ]);
  });
});

describe('the verdict', () => {
  it('reports how much was checked, and how close to the bound it came', () => {
    const calls = [consume(first), consume(second), unknown(1015), call('consume', 1016, { end: 'unsent' })];

    expect(checkHistory({ policies, sinceMs: 990, cuts: [], stopped: [], calls })).toEqual({
      defects: [],
      calls: 4,
      unknown: 1,
      unsent: 1,
      cuts: 0,
      explained: 2,
      undecided: 0,
      intervals: 3,
      closest: { fixedWindow: 2 / 3 },
    });
  });
});
