import { countUnits } from './bounds.ts';
import { explain, type Decided, type Floating } from './explain.ts';
import type { Call, Cut, History } from './history.ts';
import { Instants } from './instants.ts';
import { ruleOf } from './rules.ts';

/** The result of checking a history. */
export interface Verdict {
  /** Events that no correct limiter can cause, in words. */
  readonly defects: readonly string[];
  readonly calls: number;
  readonly unknown: number;
  readonly unsent: number;
  readonly cuts: number;
  /** Decisions that were explained in every number, and those with too many possible explanations to follow. */
  readonly explained: number;
  readonly undecided: number;
  /** Intervals in which units were counted, and the largest share of a bound that was reached, by algorithm. */
  readonly intervals: number;
  readonly closest: Readonly<Record<string, number>>;
}

/**
 * Checks a history of calls of several processes on one server. A history without defects has these properties:
 *
 * 1. **One clock that does not go back**: a decision that had ended before another was invoked, in whatever process and
 *    on whatever key, has no later instant.
 * 2. **One order explains everything.** Between two losses of the server's memory (a cut) there is for each key an order
 *    of its calls, the same for all processes, in which the policies of design.md §5, performed one call after the
 *    other on an unused key, give every recorded decision: allowed or not, and per policy what remains and every
 *    wait. See {@link explain} for the definition of an order. So no request is allowed or denied wrongly, none counts
 *    twice, no denied request counts, and no unit is lost.
 *    A call whose end is unknown occurs in that order once or not at all. A call that was never sent does not occur.
 * 3. **The bounds of design.md §5 hold**, counted without any of that: see {@link countUnits}. Unknown calls count as
 *    not having happened.
 *
 * The check assumes that a server carries out the commands of a process in the order in which they were sent, that
 * commands it has not carried out are lost with it (neither with `history.lateMs`), and that `history.stopped` is
 * right.
 *
 * Where unknown calls have more than some thousand explanations at once, the second property is not checked for that
 * key up to the next cut: the verdict states for how many decisions.
 */
export function checkHistory(history: History): Verdict {
  const { calls, cuts } = history;
  const decided = calls.filter(isDecided);
  const instants = new Instants(decided);
  const defects = decided.flatMap((call) => wentBack(call, instants));
  const isStopped = (atMs: number): boolean =>
    history.stopped.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs);

  const impossible = decided.find(({ reply }) => isStopped(reply.atMs));
  if (impossible !== undefined) throw new Error(`the server was stopped when it decided ${described(impossible)}`);

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

/** The number of cuts before an instant of the server. */
function lifeAt(atMs: number, cuts: readonly Cut[]): number {
  return cuts.filter((cut) => cut.atMs < atMs).length;
}

function wentBack(call: Decided, instants: Instants): string[] {
  const notBeforeMs = instants.notBeforeMs(call);
  return call.reply.atMs >= notBeforeMs
    ? []
    : [`time went back: when ${described(call)} was invoked, a decision of ${String(notBeforeMs)} had ended`];
}

/**
 * A call as one that floats in the life of the server that follows so many cuts, or undefined if it cannot have run
 * there.
 */
function asFloating(call: Call, life: number, { cuts, sinceMs, lateMs }: History, instants: Instants): Floating[] {
  if (call.end === 'unsent' || call.op === 'peek' || isDecided(call)) return [];
  const cutsBy = (ms: number): number => cuts.filter(({ lostMs }) => lostMs <= ms).length;
  const answered = call.end === 'answered';
  const lastMs = lateMs === undefined ? undefined : call.endedMs + lateMs;
  // A command is lost with its server, unless it was answered, or waits elsewhere.
  const cutsAround = [cutsBy(call.invokedMs), cutsBy(answered ? call.endedMs : (lastMs ?? call.invokedMs))] as const;
  if (life < cutsAround[0] || life > cutsAround[1]) return [];
  const fromMs = Math.max(instants.notBeforeMs(call), cuts[life - 1]?.atMs ?? sinceMs);
  const untilMs = Math.min(
    answered
      ? instants.notAfterMs(call)
      : lastMs === undefined
        ? instants.notAfterMsInProcess(call)
        : instants.notAfterMs({ ...call, endedMs: lastMs }),
    cuts[life]?.atMs ?? Infinity,
  );
  if (fromMs > untilMs) return [];
  const certain = answered && cutsAround[0] === cutsAround[1];
  return [{ call, certain, inOrder: lateMs === undefined, fromMs, untilMs }];
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
    `${where}: no order of the calls explains ${described(call)}`,
    `  the key stood as ${
      states
        .slice(0, SHOWN)
        .map((one) => JSON.stringify(one))
        .join(' or ') || 'nothing that is possible'
    }`,
    ...before.slice(-SHOWN).map((one) => `  decided: ${described(one)}`),
    ...around.map(({ call: one, certain }) => `  ${certain ? 'carried out' : 'unknown'}: ${described(one)}`),
  ].join('\n');
}

function described({ op, process, cost, invokedMs, endedMs, reply, charge }: Call): string {
  const from = charge === undefined ? '' : ` of ${String(charge.atMs)}`;
  const answer = reply === undefined ? '' : ` = ${JSON.stringify(reply)}`;
  return `${op} ${String(cost)}${from} by ${String(process)} (${invokedMs.toFixed(1)} to ${endedMs.toFixed(1)})${answer}`;
}
