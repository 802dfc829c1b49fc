import type { Decision } from '../decision.ts';
import { isSluiceError, shown, SluiceError, typeError, type StoreError } from '../errors.ts';
import { isFault } from '../guard/guard.ts';
import { compile } from '../policies/index.ts';
import type { Ask } from '../stores/store.ts';
import { checkUnits } from '../values/cost.ts';
import type { LimiterHost } from './host.ts';
import { LimiterDecision, type Receipt } from './decision.ts';
import { makeAsks, makeLocal, type PolicyAsk, type Want } from './limits.ts';
import { heldBy } from './slots.ts';

/**
 * Refunds units of a decision that took some, once; by default all of them.
 *
 * @throws (rejects) TypeError `SLUICE_DECISION_UNKNOWN`; RangeError or TypeError `SLUICE_COST_INVALID`.
 */
export async function refundDecision(core: LimiterHost, decision: Decision, cost?: number): Promise<void> {
  if (LimiterDecision.readReceipt(decision)?.issuer !== core) {
    const expected = 'refund takes a key, or a decision that this limiter made, itself and not a copy';
    throw typeError('SLUICE_DECISION_UNKNOWN', `${expected}, got ${shown(decision)}`);
  }
  const units = cost === undefined ? decision.cost : cost;
  const expected = `refund gives back a whole number of units, from 0 to the ${String(decision.cost)} of the decision`;
  checkUnits(units, [0, decision.cost], expected);
  if (units > 0) await settle(core, decision, 'give', (ask) => Math.min(units, ask.cost));
}

/** Changes the cost of a decision, whose asks have one cost, to the actual one, once. */
export async function settleAt(core: LimiterHost, decision: Decision, actual: number): Promise<void> {
  const beyond = actual - decision.cost;
  await settle(core, decision, beyond > 0 ? 'charge' : 'give', () => Math.abs(beyond));
}

/**
 * Gives back or charges, once per decision, what a decision took, in the windows that counted it. Slots stay held.
 * Nothing is reported to the caller: what may have been executed is not sent again, and what surely was not sent is kept
 * until the store is back.
 *
 * @param unitsFor - The units of each ask; with 0 it stays as it is.
 */
export async function settle(
  core: LimiterHost,
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
    if ((error as Partial<StoreError>).sent === false) core.keep(op, asks);
  }
}

/** Gives back the places that a decision took in lines, for a request that never starts. What only counts stays taken. */
export async function refundPacing(core: LimiterHost, decision: Decision): Promise<void> {
  await settle(core, decision, 'give', ({ policy, cost }) => (compile(policy).paces ? cost : 0));
}

/** Gives back all that a decision took, slots included, for a request that never runs. */
export async function giveBack(core: LimiterHost, decision: Decision): Promise<void> {
  await Promise.all([settle(core, decision, 'give', ({ cost }) => cost), heldBy(core, decision)?.release()]);
}

/**
 * Resets, blocks or unblocks in one call, in the fallback as well, so that a blocked client stays blocked while the store
 * is not available.
 *
 * @param given - A block with a cost of 1 also resets.
 * @param until - How long a block lasts, in milliseconds; 0 ends it.
 */
export async function editKeys(
  core: LimiterHost,
  op: 'reset' | 'block',
  given: readonly Want[],
  until = 0,
): Promise<void> {
  await editConfigured(core, given, async (known) => {
    const asks = known.map((ask) => ({ ...ask, until }));
    void core.fallback?.perform(op, makeLocal(asks));
    await core.send(op, asks);
  });
}

/**
 * Refunds or charges units of keys without a decision; if the store fails, and `onStoreError` is `local`, in the
 * fallback.
 *
 * @throws (rejects) TypeError `SLUICE_ACQUIRE_NEEDED` if a policy holds slots: units alone do not say whose.
 */
export async function settleKeys(core: LimiterHost, op: 'give' | 'charge', given: readonly Want[]): Promise<void> {
  await editConfigured(core, given, async (asks) => {
    const held = asks.find(({ counted }) => counted.rule.holds);
    if (held !== undefined) {
      const what = `the policy ${shown(held.counted.name)} holds slots, which belong to their holders`;
      const instead = 'call the release() that limiter.acquire(key) returned';
      throw typeError('SLUICE_ACQUIRE_NEEDED', `${what}: ${instead}; nothing was changed`);
    }
    if (given.every(({ cost }) => cost === 0)) return;
    try {
      await core.send(op, asks);
    } catch (error) {
      if (core.onStoreError !== 'local' || core.fallback === undefined || isFault(error)) throw error;
      await core.send(op, makeLocal(asks), true);
    }
  });
}

/** Edits keys under the policies of the moment. Limits that decisions leave out are left out here too. */
async function editConfigured(
  core: LimiterHost,
  given: readonly Want[],
  edit: (asks: readonly PolicyAsk[]) => Promise<void>,
): Promise<void> {
  core.checkOpen();
  const editing = core.readCurrent(given).then(async (wants) => {
    const missing = wants.find(({ policies }) => policies?.length === 0);
    if (missing !== undefined && (core.onUnconfigured === 'deny' || wants.length === 1)) {
      const what = `the policy ${shown(missing.limit.name)} is not configured, or not for this application`;
      throw new SluiceError('SLUICE_POLICY_UNCONFIGURED', `${what}: nothing was done`);
    }
    await edit(makeAsks(wants, true));
  });
  await core.track(editing);
}
