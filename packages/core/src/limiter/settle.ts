import type { Decision } from '../decision.ts';
import { isSluiceError, shown, SluiceError, typeError, type StoreError } from '../errors.ts';
import { isFault } from '../guard/guard.ts';
import { findTimeline, type NewEvent } from '../events/timeline.ts';
import { BLOCKED, USED } from '../program/decide.ts';
import type { Answer, Ask, Op } from '../stores/store.ts';
import { checkUnits } from '../values/cost.ts';
import { writeDuration } from '../values/duration.ts';
import type { LimiterCore } from './core.ts';
import { LimiterDecision, type Receipt } from './decision.ts';
import { makeAsks, makeLocal, type PolicyAsk, type Want } from './limits.ts';
import { findSlots } from './slots.ts';

/**
 * Refunds units of a decision that took some, once; by default all of them.
 *
 * @throws (rejects) TypeError `SLUICE_DECISION_UNKNOWN`; RangeError or TypeError `SLUICE_COST_INVALID`.
 */
export async function refundDecision(core: LimiterCore, decision: Decision, cost?: number): Promise<void> {
  if (LimiterDecision.readReceipt(decision)?.issuer !== core) {
    const expected = 'refund takes a key, or a decision object that this limiter returned (not a copy)';
    throw typeError('SLUICE_DECISION_UNKNOWN', `${expected}, got ${shown(decision)}`);
  }
  const units = cost === undefined ? decision.cost : cost;
  const expected = `refund takes a whole number of units, from 0 to the ${String(decision.cost)} of the decision`;
  checkUnits(units, [0, decision.cost], expected);
  if (units > 0) await settle(core, decision, 'give', (ask) => Math.min(units, ask.cost));
}

/**
 * Refunds or charges what a decision took, once per decision, in the windows that counted it. Slots stay held. Failures
 * are not reported to the caller: what may have been executed is not sent again, and what was certainly not sent is
 * kept until the store is back.
 *
 * @param unitsFor - The units of each ask; 0 changes nothing.
 */
export async function settle(
  core: LimiterCore,
  decision: Decision,
  op: 'give' | 'charge',
  unitsFor: (ask: PolicyAsk) => number,
): Promise<void> {
  const receipt = LimiterDecision.readReceipt(decision) as Receipt;
  if (receipt.isSpent) return;
  receipt.isSpent = true;
  const asks = receipt.asks.flatMap((ask, i): readonly Ask[] => {
    const cost = unitsFor(ask);
    if (cost === 0 || (ask.holder ?? 0) > 0) return [];
    const until = decision.atMs + (decision.policies[i]?.resetAfterMs ?? 0);
    return [{ ...ask, cost, until, holder: decision.atMs }];
  });
  if (asks.length === 0) return;
  try {
    await core.send(op, asks, receipt.isLocal);
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    if ((error as Partial<StoreError>).sent === false) core.guard?.keep(op, asks);
  }
}

/** Gives back a decision's places in leaky buckets, for a request that never starts. Other units stay taken. */
export async function refundPacing(core: LimiterCore, decision: Decision): Promise<void> {
  await settle(core, decision, 'give', ({ counted, cost }) => (counted.rule.paces ? cost : 0));
}

/** Gives back everything that a decision took, slots included, for a request that never runs. */
export async function giveBack(core: LimiterCore, decision: Decision): Promise<void> {
  await Promise.all([settle(core, decision, 'give', ({ cost }) => cost), findSlots(core, decision)?.release()]);
}

/** What to change about keys. */
export interface KeyEdit {
  /** How long a block lasts, in milliseconds; 0 ends it. */
  readonly until?: number;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  /**
   * Whether the timeline leaves it out. Default: true for a reset without `by` and `reason`, such as one after each
   * login.
   */
  readonly isRoutine?: boolean;
  /** The edit's deadline, by `performance.now()`. */
  readonly endMs?: number | undefined;
}

/**
 * Resets, blocks or unblocks keys in one call, and in the fallback, so that a blocked client stays blocked while the
 * store is unavailable. Records it in the timeline, unless it is routine.
 *
 * @param given - A block with a cost of 1 also resets.
 */
export async function editKeys(
  core: LimiterCore,
  op: 'reset' | 'block',
  given: readonly Want[],
  edit: KeyEdit = {},
): Promise<void> {
  const { until = 0, by, reason, endMs = performance.now() + core.timeoutMs } = edit;
  const { isRoutine = op === 'reset' && by === undefined && reason === undefined } = edit;
  await editConfigured(core, given, endMs, async (known) => {
    const what = op === 'reset' ? op : until > 0 ? 'block' : 'unblock';
    const timeline = findTimeline(core.store);
    const tellOf = ({ want: { limit, subject: key } }: PolicyAsk): KeyEvent => {
      const event = { what, limit: core.nameInTimeline(limit), key, by, reason } as const;
      return { event, written: timeline.prepare(event) };
    };
    // One for each key, by its first ask.
    const first = known.filter(({ want }, i) => known.findIndex((ask) => ask.want === want) === i);
    const events = isRoutine ? undefined : new Map(first.map((ask) => [ask, tellOf(ask)]));
    const asks = known.map((ask) => ({ ...ask, until, event: events?.get(ask)?.written }));
    core.guard?.fallback.perform(op, makeLocal(asks));
    const send = (own: Op, some: readonly Ask[]): Promise<Answer> => core.send(own, some, false, endMs);
    if (events === undefined) {
      await send(op, asks);
      return;
    }
    // The previous state is read in the same turn, so both are one call, which also writes the events in Redis. How much
    // was used before and after is added later.
    const free = known.map((ask) => ({ ...ask, cost: 0 }));
    const [before, after] = await Promise.all([send('peek', free).catch(() => undefined), send(op, asks)]);
    const tell = async ([{ want }, { event, written }]: readonly [PolicyAsk, KeyEvent]): Promise<void> => {
      const states = {
        before: before === undefined ? null : describeState(asks, before, want),
        after: describeState(asks, after, want),
      };
      await timeline.add({ ...event, ...states, atMs: after.atMs }, written[0]);
    };
    await Promise.all(Array.from(events, tell));
  });
}

/** The event of a key's edit, and how its ask contains it. */
interface KeyEvent {
  readonly event: Omit<NewEvent, 'atMs'>;
  readonly written: readonly [name: string, text: string];
}

/** Describes what a key has used, and how long it is blocked: `5 of 5 used, blocked for 10m`. */
function describeState(asks: readonly PolicyAsk[], { figures }: Answer, want: Want): string {
  const own = asks.flatMap((ask, i) => (ask.want === want ? [{ ...ask.counted, of: figures[i] ?? [] }] : []));
  const texts = own.map(({ name, rule, of }) => {
    const blockedMs = of[BLOCKED] ?? 0;
    const block = blockedMs > 0 ? `, blocked for ${writeDuration(Math.ceil(blockedMs / 1_000) * 1_000)}` : '';
    return `${own.length > 1 ? `${name}: ` : ''}${String(of[USED] ?? 0)} of ${String(rule.limit)} used${block}`;
  });
  return texts.join('; ');
}

/**
 * Refunds or charges units of keys without a decision; if the store fails, and `onStoreError` is `local`, in the
 * fallback.
 *
 * @throws (rejects) TypeError `SLUICE_ACQUIRE_NEEDED` if a policy holds slots, because units do not tell whose.
 */
export async function settleKeys(core: LimiterCore, op: 'give' | 'charge', given: readonly Want[]): Promise<void> {
  const endMs = performance.now() + core.timeoutMs;
  await editConfigured(core, given, endMs, async (asks) => {
    const held = asks.find(({ counted }) => counted.rule.holds);
    if (held !== undefined) {
      const what = `the policy ${shown(held.counted.name)} holds slots, which belong to their holders`;
      const instead = 'call the release() that limiter.acquire(key) returned';
      throw typeError('SLUICE_ACQUIRE_NEEDED', `${what}: ${instead}; nothing was changed`);
    }
    if (given.every(({ cost }) => cost === 0)) return;
    try {
      await core.send(op, asks, false, endMs);
    } catch (error) {
      if (core.onStoreError !== 'local' || core.guard === undefined || isFault(error)) throw error;
      await core.send(op, makeLocal(asks), true);
    }
  });
}

/** Edits keys under the current policies. Limits that decisions leave out are left out here too. */
async function editConfigured(
  core: LimiterCore,
  given: readonly Want[],
  endMs: number,
  edit: (asks: readonly PolicyAsk[]) => Promise<void>,
): Promise<void> {
  core.checkOpen();
  const editing = (async () => {
    const wants = await core.readCurrent(given, endMs);
    const missing = wants.find(({ policies }) => policies?.length === 0);
    if (missing !== undefined && (core.onUnconfigured === 'deny' || wants.length === 1)) {
      const what = `the policy ${shown(missing.limit.name)} is not configured, or not for this application`;
      throw new SluiceError('SLUICE_POLICY_UNCONFIGURED', `${what}: nothing was done`);
    }
    await edit(makeAsks(wants, true));
  })();
  await core.track(editing);
}
