import { countUnits } from './bounds.ts';
import { explain, type Decided, type Floating } from './explain.ts';
import type { Call, Cut, History } from './history.ts';
import { Instants } from './instants.ts';
import { ruleOf } from './rules.ts';

/** What came of checking a history. */
export interface Verdict {
  /** What no correct limiter can have done, in words. */
  readonly defects: readonly string[];
  readonly calls: number;
  readonly unknown: number;
  readonly unsent: number;
  readonly cuts: number;
  /** Decisions that were explained to the last number, and those that allowed of too many explanations to follow. */
  readonly explained: number;
  readonly undecided: number;
  /** Intervals in which units were counted, and the largest share of a bound that was reached, by algorithm. */
  readonly intervals: number;
  readonly closest: Readonly<Record<string, number>>;
}

/**
 * Checks a history of calls of several processes on one server. What is claimed of a history without defects:
 *
 * 1. **One clock that does not go back**: a decision that had ended before another was invoked, in whatever process and
 *    on whatever key, has no later instant.
 * 2. **One order explains everything.** Between two losses of the server's memory (a cut) there is for each key an order
 *    of its calls, the same for all processes, in which the policies of design.md §5, performed one call after the
 *    other on an unused key, give every decision that was given: allowed or not, and per policy what remains and every
 *    wait. See {@link explain} for what an order is. So nothing is admitted that is not due, nothing is refused that
 *    is due, nothing counts twice, nothing counts that was refused, and no unit is lost.
 *    A call whose end is unknown may stand in that order once or not at all. One that was never sent stands nowhere.
 * 3. **The bounds of design.md §5 hold**, counted without any of that: see {@link countUnits}. Unknown calls count as
 *    not having happened.
 *
 * Taken for granted are that a server carries out the commands of a process in the order in which they were sent, that
 * those which it has not carried out are lost with it, and `history.stopped`.
 *
 * Where unknown calls allow of more than some thousand explanations at once, the second claim is not made for what
 * follows on that key up to the next cut: the verdict says of how many decisions.
 */
export function checkHistory(history: History): Verdict {
  const { calls, cuts } = history;
  const decided = calls.filter(isDecided);
  const instants = new Instants(decided);
  const defects = decided.flatMap((call) => wentBack(call, instants));
  const isStopped = (atMs: number): boolean =>
    history.stopped.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs);

  const impossible = decided.find(({ reply }) => isStopped(reply.atMs));
  if (impossible !== undefined) throw new Error(`the server was stopped when it decided ${told(impossible)}`);

  let [explained, undecided, intervals] = [0, 0, 0];
  const closest: Record<string, number> = {};
  for (const [key, policies] of Object.entries(history.policies)) {
    const rules = policies.map(ruleOf);
    for (let life = 0; life <= cuts.length; life++) {
      const own = decided.filter((call) => call.key === key && lifeAt(call.reply.atMs, cuts) === life);
      const floating = calls.flatMap((call) => (call.key === key ? asFloating(call, life, history, instants) : []));
      const where = `key ${key}, ${String(life)} cuts before`;

      const found = explain(rules, own, floating, isStopped);
      explained += found.explained;
      undecided += found.undecided;
      if (found.unexplained !== undefined) defects.push(unexplained(where, found.unexplained, own, floating));

      for (const policy of policies) {
        const count = countUnits(policy, own, floating);
        intervals += count.intervals;
        closest[policy.algorithm] = Math.max(closest[policy.algorithm] ?? 0, count.closest);
        if (count.overrun !== undefined) {
          defects.push(`${where}: more than ${JSON.stringify(policy)} allows, ${JSON.stringify(count.overrun)}`);
        }
      }
    }
  }
  const ended = (end: Call['end']): number => calls.filter((call) => call.end === end).length;
  return {
    defects,
    calls: calls.length,
    unknown: ended('unknown'),
    unsent: ended('unsent'),
    cuts: cuts.length,
    explained,
    undecided,
    intervals,
    closest,
  };
}

function isDecided(call: Call): call is Decided {
  return call.reply !== undefined;
}

/** How many cuts lie before an instant of the server. */
function lifeAt(atMs: number, cuts: readonly Cut[]): number {
  return cuts.filter((cut) => cut.atMs < atMs).length;
}

function wentBack(call: Decided, instants: Instants): string[] {
  const notBeforeMs = instants.notBeforeMs(call);
  return call.reply.atMs >= notBeforeMs
    ? []
    : [`time went back: when ${told(call)} was invoked, a decision of ${String(notBeforeMs)} had ended`];
}

/** A call as one that floats in the life of the server that follows so many cuts, or nothing if it cannot have been carried out there. */
function asFloating(call: Call, life: number, { cuts, sinceMs }: History, instants: Instants): Floating[] {
  if (call.end === 'unsent' || call.op === 'peek' || isDecided(call)) return [];
  const livesBy = (ms: number): number => cuts.filter(({ goneMs }) => goneMs <= ms).length;
  const answered = call.end === 'answered';
  // What was sent to a server is lost with it, unless it was answered.
  const lives = [livesBy(call.invokedMs), livesBy(answered ? call.endedMs : call.invokedMs)] as const;
  if (life < lives[0] || life > lives[1]) return [];
  const fromMs = Math.max(instants.notBeforeMs(call), cuts[life - 1]?.atMs ?? sinceMs);
  const untilMs = Math.min(
    answered ? instants.notAfterMs(call) : instants.notAfterMsInProcess(call),
    cuts[life]?.atMs ?? Infinity,
  );
  if (fromMs > untilMs) return [];
  return [{ call, certain: answered && lives[0] === lives[1], fromMs, untilMs }];
}

const SHOWN = 12;

function unexplained(
  where: string,
  { call, states }: NonNullable<ReturnType<typeof explain>['unexplained']>,
  decided: readonly Decided[],
  floating: readonly Floating[],
): string {
  const atMs = call.reply?.atMs ?? 0;
  const before = decided.filter(({ reply }) => reply.atMs <= atMs).sort((a, b) => a.reply.atMs - b.reply.atMs);
  const around = floating.filter(({ fromMs, untilMs }) => fromMs <= atMs && untilMs >= atMs - 500);
  return [
    `${where}: no order of the calls explains ${told(call)}`,
    `  the key stood as ${
      states
        .slice(0, SHOWN)
        .map((one) => JSON.stringify(one))
        .join(' or ') || 'nothing that is possible'
    }`,
    ...before.slice(-SHOWN).map((one) => `  decided: ${told(one)}`),
    ...around.map(({ call: one, certain }) => `  ${certain ? 'carried out' : 'unknown'}: ${told(one)}`),
  ].join('\n');
}

function told({ op, process, cost, invokedMs, endedMs, reply, charge }: Call): string {
  const from = charge === undefined ? '' : ` of ${String(charge.atMs)}`;
  const answer = reply === undefined ? '' : ` = ${JSON.stringify(reply)}`;
  return `${op} ${String(cost)}${from} by ${String(process)} (${invokedMs.toFixed(1)} to ${endedMs.toFixed(1)})${answer}`;
}
