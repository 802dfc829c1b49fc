import { compile } from '../../src/policies/index.ts';
import { KINDS, SEVERAL, SLOTS, TTL_MS, type Bound, type Kind } from './kinds.ts';
import type { Call } from './log.ts';

/** When something was lost, by the clock of the machine. */
export interface Loss {
  readonly fromMs: number;
  readonly toMs: number;
  /** All keys are gone. Otherwise some may be in an earlier state, or were written by a clock that was ahead. */
  readonly isWhole: boolean;
}

export interface History {
  /** The processes, and which numbers each used. */
  readonly lives: readonly { readonly side: 0 | 1; calls: readonly Call[] }[];
  readonly losses: readonly Loss[];
  /** How far the server's clock was ahead of the machine's, and from when to when. */
  readonly clocks: readonly { readonly aheadMs: number; readonly fromMs: number; readonly toMs: number }[];
  readonly isCluster: boolean;
}

/** How many decisions there were; `unknown`: calls that may have counted without an answer. */
export type Count = Record<'decisions' | 'allowed' | 'denied' | 'unknown', number>;

/** Units that were taken, may have been, or were denied. */
interface Entry {
  readonly what: 'taken' | 'maybe' | 'denied';
  /** By the clock of the machine. */
  readonly realMs: number;
  /** By the clock of the store. */
  readonly atMs: number;
  readonly cost: number;
  /** Without the units that may have been refunded. */
  readonly netCost: number;
  /** What the policy of this process allows at once. */
  readonly limit: number;
  readonly isCached: boolean;
  /** From when on a slot may have been free again, and surely was. */
  readonly mayBeFreeMs: number;
  readonly freeMs: number;
}

/** What one policy decided of one key, in Redis or in the memory of one process. */
interface Ledger {
  readonly name: string;
  readonly kind: Kind | undefined;
  readonly losses: readonly Loss[];
  readonly entries: Entry[];
  readonly lateMs: number;
  /** A decision over several nodes has no single instant, and a denied one may take for a moment what it gives back. */
  readonly isOnNodes: boolean;
}

/** How far the instant of a decision may lie beyond its call. */
const TOLERANCE_MS = 20;
/**
 * How long after a call without an answer it may be executed: longer than any fault of a server, and in a cluster, whose
 * client sends again what a node has rejected.
 */
const LATE_MS = 1500;
const LATE_IN_CLUSTER_MS = 6000;
const CACHE_MS = 1000;
/** A decision is refunded at most this much later. */
const REFUND_MS = 2000;
/** After a failure, releases are kept for some time. */
const TROUBLE_MS = 1500;

/** Checks what the contract says of every decision. */
export function checkHistory({ lives, losses, clocks, isCluster }: History): Count & { readonly defects: string[] } {
  const defects: string[] = [];
  const ledgers = new Map<string, Ledger>();
  const lateMs = isCluster ? LATE_IN_CLUSTER_MS : LATE_MS;
  const count: Count = { decisions: 0, allowed: 0, denied: 0, unknown: 0 };
  for (const [process, { side, calls }] of lives.entries()) {
    const isFailure = ({ told, op, endedMs }: Call): boolean =>
      told === null ? (op === 'consume' || op === 'acquire') && endedMs < Infinity : told.source === 'local';
    const failures = calls.filter(isFailure);
    const refunds = new Map(calls.filter(({ op }) => op === 'refund').map(({ key, cost }) => [Number(key), cost]));
    const releases = new Map(calls.filter(({ op }) => op === 'release').map((call) => [Number(call.key), call]));
    for (const [n, call] of calls.entries()) {
      const { op, limiter, key, cost, invokedMs, isLate, wasSent, told } = call;
      if (isLate) defects.push(`a decision that came late: ${JSON.stringify(call)}`);
      if (op === 'release' || op === 'refund') continue;
      count.decisions++;
      if (told !== null) count[told.allowed ? 'allowed' : 'denied']++;
      const isLocal = told?.source === 'local';
      const mayCount = (isLocal || told === null) && wasSent && op !== 'peek';
      if (mayCount) count.unknown++;
      const decided = told === null || told.source === 'none' ? undefined : told;
      const reals = decided === undefined || isLocal ? [] : findInstants(call, decided, clocks);
      if (decided !== undefined && !isLocal && reals.length === 0)
        defects.push(`an instant that is not the server's: ${JSON.stringify(call)}`);
      const realMs = isLocal ? told.atMs : reals.length === 1 ? reals[0] : undefined;
      const release = releases.get(n);
      const isFreed =
        release !== undefined &&
        release.endedMs < release.invokedMs + 80 &&
        !failures.some((one) => one.endedMs > release.invokedMs - TROUBLE_MS && one.invokedMs <= release.endedMs);
      for (const name of limiter === 'several' ? SEVERAL : [limiter as 'window']) {
        const kind = name in KINDS ? KINDS[name] : undefined;
        const add = (what: Entry['what'], isHere = false): void => {
          const id = `${limiter} ${name} ${key}${isHere ? ` in ${String(process)}` : ''}`;
          const isOnNodes = isCluster && limiter === 'several' && !isHere;
          const ledger = ledgers.get(id) ?? {
            name: id,
            kind,
            losses: isHere ? [] : losses,
            entries: [],
            lateMs,
            isOnNodes,
          };
          ledgers.set(id, ledger);
          ledger.entries.push({
            ...{ what, cost, netCost: cost - (refunds.get(n) ?? 0), isCached: told?.source === 'cache' },
            ...{ realMs: what === 'maybe' ? invokedMs : (realMs ?? invokedMs), atMs: told?.atMs ?? 0 },
            limit: compile(kind?.policies[side] ?? SLOTS[side]).limit,
            ...{ mayBeFreeMs: release?.invokedMs ?? Infinity, freeMs: isFreed ? release.endedMs : Infinity },
          });
        };
        if (mayCount) add('maybe');
        if (decided === undefined) continue;
        if (decided.allowed && op !== 'peek') add(realMs === undefined ? 'maybe' : 'taken', isLocal);
        const isDenied = !decided.allowed && (limiter !== 'several' || decided.denied.includes(name));
        if (isDenied && realMs !== undefined) add('denied', isLocal);
      }
    }
  }
  const isDenial = ({ what }: Entry): number => (what === 'denied' ? 1 : 0);
  for (const ledger of ledgers.values()) {
    ledger.entries.sort((a, b) => a.realMs - b.realMs || isDenial(a) - isDenial(b));
    for (const bound of ledger.kind?.bounds ?? []) defects.push(...findOver(ledger, bound));
    if (ledger.kind === undefined) defects.push(...findSlots(ledger, clocks));
    else if (!ledger.isOnNodes) defects.push(...findUndue(ledger, ledger.kind, clocks));
  }
  return { defects, ...count };
}

/** When a call was decided by the clock of the machine: several instants, if several clocks may have shown the same. */
function findInstants(call: Call, { atMs, source }: NonNullable<Call['told']>, clocks: History['clocks']): number[] {
  const earlierMs = source === 'cache' ? CACHE_MS : 0;
  return clocks.flatMap(({ aheadMs, fromMs, toMs }) => {
    const realMs = atMs - aheadMs;
    const isFrom = realMs >= Math.max(fromMs, call.invokedMs - earlierMs) - TOLERANCE_MS;
    return isFrom && realMs <= Math.min(toMs + earlierMs, call.endedMs) + TOLERANCE_MS ? [realMs] : [];
  });
}

/** More units than a bound, between two losses. */
function findOver({ name, entries, losses, isOnNodes }: Ledger, bound: Bound): string[] {
  const looseMs = isOnNodes ? 150 : 0;
  const defects: string[] = [];
  const eras = losses.map((): Entry[] => []).concat([[]]);
  for (const entry of entries) {
    const isLost = losses.some(({ fromMs, toMs }) => entry.realMs >= fromMs && entry.realMs <= toMs);
    if (entry.what === 'taken' && !isLost) eras[losses.filter(({ toMs }) => toMs < entry.realMs).length]?.push(entry);
  }
  for (const era of eras) {
    const [first] = era;
    if (first === undefined) continue;
    // What was taken before a loss, and refunded after it, is given back although it is not counted any more.
    const lost = entries.filter(({ realMs }) => realMs < first.realMs && realMs > first.realMs - REFUND_MS);
    const givenBack = lost.reduce((sum, { cost, netCost }) => sum + cost - netCost, 0);
    let [units, from, lastMs] = [0, 0, 0];
    for (const [to, { realMs, atMs, netCost }] of era.sort((a, b) => a.atMs - b.atMs).entries()) {
      if ('everyMs' in bound) units = Math.max(units - (atMs - lastMs + looseMs) / bound.everyMs, 0);
      else {
        const beginMs = bound.onClock === true ? atMs - (atMs % bound.inMs) : atMs - bound.inMs + 1 + looseMs;
        for (; from < to && (era[from] as Entry).atMs < beginMs; from++) units -= (era[from] as Entry).netCost;
      }
      units += netCost;
      lastMs = atMs;
      const spare = realMs < first.realMs + REFUND_MS ? givenBack : 0;
      if (units <= bound.units + spare + 1e-6) continue;
      defects.push(`over: ${name} at ${String(atMs)}: ${String(units)}, not ${JSON.stringify(bound)}`);
    }
  }
  return defects;
}

/** Whether a call without an answer may have been executed after one instant, and may still have been under way at another. */
function isMaybe({ realMs }: Entry, lateMs: number, sinceMs: number, nowMs: number): boolean {
  return realMs + lateMs >= sinceMs && realMs + lateMs > nowMs;
}

/** Denials for which not enough units can have been used. */
function findUndue({ name, entries, losses, lateMs }: Ledger, { back }: Kind, clocks: History['clocks']): string[] {
  const defects: string[] = [];
  let [debt, writtenMs, debtSinceMs] = [0, 0, -Infinity];
  let maybes: readonly Entry[] = [];
  for (const [i, entry] of entries.entries()) {
    const { what, realMs, atMs, cost, limit, isCached } = entry;
    const loss = losses.findLast(({ isWhole, fromMs }) => isWhole && fromMs <= realMs);
    const sinceMs = loss?.fromMs ?? -Infinity;
    let used = 0;
    if ('afterMs' in back) {
      // No clock steps further back than two seconds.
      for (let j = i - 1; what === 'denied' && j >= 0; j--) {
        const one = entries[j] as Entry;
        if (one.realMs < realMs - LATE_IN_CLUSTER_MS - 2000) break;
        const isUsed =
          one.what === 'taken'
            ? one.realMs >= sinceMs && one.atMs > atMs - back.afterMs
            : one.what === 'maybe' && isMaybe(one, lateMs, sinceMs, realMs - back.afterMs);
        if (isUsed) used += one.cost;
      }
    } else {
      if (debtSinceMs < sinceMs) [debt, debtSinceMs] = [0, sinceMs];
      // A clock that has stepped back behind the last write reads the state as of that write.
      if (what !== 'maybe' && !isCached && atMs < writtenMs) writtenMs = atMs;
      if (what === 'taken') {
        debt = Math.max(debt - (atMs - writtenMs) / back.everyMs, 0);
        writtenMs = atMs;
      }
      for (const one of maybes) if (one.realMs + lateMs <= realMs && one.realMs + lateMs >= sinceMs) debt += one.cost;
      maybes = maybes.filter((one) => isMaybe(one, lateMs, sinceMs, realMs));
      used =
        Math.max(debt - Math.max(atMs - writtenMs, 0) / back.everyMs, 0) +
        back.spare +
        maybes.reduce((sum, one) => sum + one.cost, 0);
      if (what === 'taken') debt += cost;
      if (what === 'maybe') maybes = [...maybes, entry];
    }
    const isFresh = loss !== undefined && realMs <= loss.toMs + (isCached ? CACHE_MS : 0);
    // It may have been remembered before the clock stepped.
    const isOld = isCached && clocks.some(({ fromMs }) => realMs >= fromMs && realMs <= fromMs + CACHE_MS);
    if (what !== 'denied' || isFresh || isOld || used + cost > limit) continue;
    defects.push(`undue: ${name} at ${String(atMs)}: ${String(cost)} of ${String(limit)}, ${String(used)} used`);
  }
  return defects;
}

/** More holders than the larger limit at one instant, and denials while there were too few. */
function findSlots({ name, entries, losses, lateMs }: Ledger, clocks: History['clocks']): string[] {
  const defects: string[] = [];
  const max = Math.max(...SLOTS.map(({ limit }) => limit));
  for (const [i, { what, realMs, atMs, limit }] of entries.entries()) {
    const loss = losses.findLast(({ isWhole, fromMs }) => isWhole && fromMs <= realMs);
    const sinceMs = loss?.fromMs ?? -Infinity;
    const before = entries.slice(Math.max(i - 500, 0), i);
    const held = before.filter((one) => one.what === 'taken' && one.atMs + TTL_MS > atMs && one.realMs >= sinceMs);
    const hasChanged = (one: Entry): boolean =>
      [...losses, ...clocks.map(({ fromMs }) => ({ fromMs, toMs: fromMs }))].some(
        ({ fromMs, toMs }) => toMs >= one.realMs - TOLERANCE_MS && fromMs <= realMs + TOLERANCE_MS,
      );
    const surely = held.filter((one) => one.mayBeFreeMs > realMs && !hasChanged(one)).length;
    if (what === 'taken' && surely >= max) defects.push(`over: ${name} at ${String(atMs)}: ${String(surely)} held`);
    const maybe = before.filter((one) => one.what === 'maybe' && isMaybe(one, lateMs, sinceMs, realMs - TTL_MS)).length;
    const most = held.filter((one) => one.freeMs >= realMs || hasChanged(one)).length + maybe;
    if (what !== 'denied' || most >= limit || (loss !== undefined && realMs <= loss.toMs)) continue;
    defects.push(`undue: ${name} at ${String(atMs)}: ${String(most)} of ${String(limit)} held`);
  }
  return defects;
}
