import { hostname } from 'node:os';
import { writtenPolicy } from '@sluice/old-core/inspect';
import { currentOf, isSource } from '@sluice/old-core/spi';
import type { Policy } from '@sluice/old-core';
import { MINUTES, sumOf, type MinuteCounts } from './counts.ts';
import type { History, PageChange } from './history.ts';
import type { KeyNames } from './key-names.ts';
import { coresOf, type LiveLimiter } from './limits.ts';
import type { CountedKey, LimiterCounts, Recorder } from './recorder.ts';
import { mergeDenied, onePerProcess } from './shared/merge-denied.ts';
import type { SharingProcess } from './shared/page-record.ts';
import { recordOf, shownChange, shownRecord } from './shared/record-of.ts';
import type { Sharing } from './shared/sharing.ts';
import type { Frequent, TopKeys } from './top-keys.ts';

/** All that the page shows without a question: what this process has seen. */
export interface Snapshot {
  readonly atMs: number;
  readonly process: { readonly pid: number; readonly host: string; readonly sinceMs: number };
  readonly isHashed: boolean;
  /** The name by which the operator is known; null: the operator has to give one. */
  readonly operator: string | null;
  readonly limiters: readonly ShownLimiter[];
  readonly denied: ShownKeys;
  readonly used: ShownKeys;
  /** What all processes whose pages share their counts have denied; null where this page shares none. */
  readonly shared: ShownShared | null;
  /** Those of all such processes, and of the command line. The last one first. */
  readonly changes: readonly PageChange[];
}

export interface ShownLimiter {
  readonly name: string;
  readonly store: string;
  readonly breaker: string;
  readonly keysInMemory: number;
  /** In the last hour, by source. */
  readonly sources: Readonly<Record<string, number>>;
  /** Upper bounds, in milliseconds, in the last five minutes at most. */
  readonly medianMs: number | null;
  readonly p99Ms: number | null;
  readonly policies: readonly ShownCounts[];
}

/** One policy: its numbers, and its decisions in the last hour. */
export interface ShownCounts {
  readonly name: string;
  /** As a program writes it; null for one that a function has picked. */
  readonly text: string | null;
  readonly isManaged: boolean;
  readonly allowed: number;
  readonly denied: number;
  readonly near: number;
  /** Denied decisions of each minute, the last one last. */
  readonly deniedByMinute: readonly number[];
}

/** The most frequent keys of a period. */
export interface ShownKeys {
  readonly sinceMs: number;
  /** Of how many decisions one is counted at present. */
  readonly oneIn: number;
  readonly keys: readonly ShownKey[];
}

/** The keys that this process and others have denied most. */
export interface ShownShared {
  /** The others. `ageMs`: how old their counts are. */
  readonly others: readonly (SharingProcess & { readonly ageMs: number })[];
  readonly keys: readonly ShownKey[];
  /** Of how many decisions one is counted at present, at most. */
  readonly oneIn: number;
  /** Since when Redis has not taken or given counts; null: it does both. */
  readonly awaySinceMs: number | null;
}

export interface ShownKey {
  /** Null: only another process knows the key, with another secret. */
  readonly id: string | null;
  readonly limiter: string;
  readonly policy: string;
  readonly key: string;
  readonly count: number;
  readonly atLeast: number;
  readonly atMost: number;
}

const MOST_KEYS = 25;
const MOST_CHANGES = 100;

/** Makes snapshots, at most one a second. */
export class Snapshots {
  readonly #recorder: Recorder;
  readonly #names: KeyNames;
  readonly #history: History;
  readonly #only: ReadonlySet<LiveLimiter> | undefined;
  readonly #sharing: Sharing | undefined;

  constructor(
    recorder: Recorder,
    names: KeyNames,
    {
      history,
      only,
      sharing,
    }: {
      readonly history: History;
      readonly only: ReadonlySet<LiveLimiter> | undefined;
      readonly sharing: Sharing | undefined;
    },
  ) {
    this.#recorder = recorder;
    this.#names = names;
    this.#history = history;
    this.#only = only;
    this.#sharing = sharing;
  }

  take(operator: string | undefined): Snapshot {
    const { startedAtMs, denied, used } = this.#recorder;
    return {
      atMs: Date.now(),
      process: { pid: process.pid, host: hostname(), sinceMs: startedAtMs },
      isHashed: this.#names.isHashed,
      operator: operator ?? null,
      limiters: this.#limiters(),
      denied: this.#keys(denied),
      used: this.#keys(used),
      shared: this.#shared(),
      changes: this.#changes(),
    };
  }

  #shared(): ShownShared | null {
    if (this.#sharing === undefined) return null;
    const { pages, awaySinceMs } = this.#sharing.others;
    const own = recordOf(this.#recorder, this.#names);
    const records = [own, ...pages.map(({ record }) => shownRecord(record, this.#names))];
    const processes = onePerProcess(pages.map(({ record }) => record));
    return {
      others: pages
        .filter(({ record }) => processes.includes(record) && !isSame(record.process, own.process))
        .map(({ record, ageMs }) => ({ ...record.process, ageMs })),
      keys: mergeDenied(records)
        .slice(0, MOST_KEYS)
        .map(({ id, limiter, policy, key, count, atLeast, atMost }) => ({
          id: this.#names.find(id) === undefined ? null : id,
          ...{ limiter, policy, key, count, atLeast, atMost },
        })),
      oneIn: Math.max(...records.map(({ oneIn }) => oneIn)),
      awaySinceMs,
    };
  }

  #changes(): readonly PageChange[] {
    const others = this.#sharing?.others.changes ?? [];
    const own = this.#history.changes;
    if (others.length === 0) return own.map(({ change }) => change);
    const all = new Map(own.map(({ change, shared }) => [identityOf(shared), change]));
    for (const other of others) {
      const change = shownChange(other, this.#names);
      const identity = identityOf(change);
      if (!all.has(identity)) all.set(identity, change);
    }
    return [...all.values()].toSorted((a, b) => b.atMs - a.atMs).slice(0, MOST_CHANGES);
  }

  #keys(top: TopKeys<CountedKey>): ShownKeys {
    const keys = top.top(MOST_KEYS).map(({ item, count, atLeast, atMost }: Frequent<CountedKey>): ShownKey => {
      const { core, policy } = item;
      return {
        id: this.#names.idOf(item),
        limiter: core.name,
        policy,
        key: this.#names.textOf(item),
        count,
        atLeast,
        atMost,
      };
    });
    return { sinceMs: top.sinceMs, oneIn: top.oneIn, keys };
  }

  /** Limiters of one name count as one, as in metrics. */
  #limiters(): readonly ShownLimiter[] {
    const all = coresOf(this.#only);
    const names = [...new Set(all.map(({ name }) => name))];
    return names.map((name) => {
      const cores = all.filter((core) => core.name === name);
      const counts = this.#recorder.limiters.get(name);
      const states = cores.map((core) => core.status());
      const breakers = states.map(({ breaker }) => breaker);
      return {
        name,
        store: [...new Set(states.map(({ store }) => store))].join(', '),
        breaker: ['open', 'half-open'].find((state) => breakers.includes(state as 'open')) ?? 'closed',
        keysInMemory: states.reduce((sum, { keysInMemory }) => sum + keysInMemory, 0),
        sources: counts?.timings.sources ?? {},
        medianMs: counts?.timings.quantile(0.5) ?? null,
        p99Ms: counts?.timings.quantile(0.99) ?? null,
        policies: policiesOf(cores, counts, this.#recorder.minute),
      };
    });
  }
}

function policiesOf(
  cores: readonly LiveLimiter[],
  counts: LimiterCounts | undefined,
  minute: number,
): readonly ShownCounts[] {
  const known = new Map<string, { readonly text: string | null; readonly isManaged: boolean }>();
  for (const limit of cores.flatMap(({ limits }) => limits.known)) {
    const isManaged = isSource(limit);
    const policies = currentOf(limit)?.policies ?? [];
    for (const { name, policy } of policies) known.set(name, { text: writtenPolicy(policy as Policy), isManaged });
    if (isManaged && policies.length === 0) known.set(limit.name, { text: null, isManaged });
  }
  for (const name of counts?.policies.keys() ?? []) {
    if (!known.has(name)) known.set(name, { text: null, isManaged: false });
  }
  return [...known].map(([name, { text, isManaged }]) => {
    const of = counts?.policies.get(name);
    return { name, text, isManaged, ...(of === undefined ? NONE : countsOf(of, minute)) };
  });
}

function isSame(one: SharingProcess, other: SharingProcess): boolean {
  return one.pid === other.pid && one.host === other.host;
}

function identityOf({ atMs, by, action, target }: PageChange): string {
  return JSON.stringify([atMs, by, action, target]);
}

const NONE = { allowed: 0, denied: 0, near: 0, deniedByMinute: [] };

function countsOf(
  { allowed, denied, near }: MinuteCounts,
  minute: number,
): Omit<ShownCounts, 'name' | 'text' | 'isManaged'> {
  const deniedByMinute = Array.from({ length: MINUTES }, (_, i) => denied[(minute + 1 + i) % MINUTES] as number);
  return { allowed: sumOf(allowed), denied: sumOf(denied), near: sumOf(near), deniedByMinute };
}
