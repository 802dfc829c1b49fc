import { PolicyError, type Policy } from '@sluice/old-core';
import { invalidOption, namePolicy } from '@sluice/old-core/spi';
import type { PolicyCache } from './policy-cache.ts';
import { MOST_ATTEMPTS, tooBusy } from './too-busy.ts';
import { samePolicy, unnamed, type PolicyDefinition } from './read-record.ts';
import { nextVersion } from './overrides/next-version.ts';
import type { Audit, Override, OverrideRecord } from './overrides/override-record.ts';
import { makeOverrideRecord, readOverride } from './overrides/override-record.ts';
import type { ListSettings } from './overrides/options.ts';
import { inForce, numbersOf } from './overrides/policy-overrides.ts';
import { readRecordName, recordNameOf, type Target } from './overrides/target.ts';

/** An override as `overrides` returns it. */
export interface PolicyOverride {
  /** The policy that it overrides. */
  readonly name: string;
  /** The key that it concerns (a long one as `#` and its hash), or every key that begins with a prefix. */
  readonly target: string | { readonly prefix: string };
  /** Null: it was removed. */
  readonly policy: Policy | null;
  /** When it ends, milliseconds since 1970 by the clock of the source. Null: it does not. */
  readonly untilMs: number | null;
  /** Who changed it last, and why. */
  readonly by: string | null;
  readonly reason: string | null;
  /** Milliseconds since 1970, by the clock of the process that changed it. */
  readonly changedAtMs: number;
  readonly version: number;
}

/** The result of `override`. */
export interface OverrideResult extends PolicyOverride {
  readonly change: 'created' | 'changed' | 'unchanged';
  /** The policy that counted for its keys until now: that of an override, or of the name. */
  readonly before: Policy;
}

interface PutOverride extends Audit {
  readonly until: number | undefined;
  readonly dryRun: boolean;
}

type Write = (how: 'put' | 'remove', name: string, record: OverrideRecord, before: unknown) => Promise<boolean>;

/** Reads and changes the overrides of a source. */
export class OverrideEdits {
  readonly #cache: PolicyCache;
  readonly #write: Write;

  constructor(cache: PolicyCache, write: Write) {
    this.#cache = cache;
    this.#write = write;
  }

  async put(name: string, target: Target, policy: Policy, options: PutOverride): Promise<OverrideResult> {
    const { until, dryRun, by, reason } = options;
    const named = namePolicy(policy, name);
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      await this.#cache.load();
      this.#checkBase(name, named.algorithm.name);
      const { override, record, stored } = await this.#current(name, target);
      const before = this.#countedFor(name, target);
      this.#checkUntil(until);
      const isSame =
        override?.named !== undefined && samePolicy(override.named, named) && override.untilMs === (until ?? Infinity);
      if (isSame && record !== undefined && sameAudit(record, options)) {
        return { ...shownOverride(name, target, record), change: 'unchanged', before };
      }
      const version = this.#nextVersion(name, target, record, numbersOf(named));
      const rule = unnamed(named.policy);
      const said = { version, policy: rule, ...(until === undefined ? {} : { untilMs: until }) };
      const after = makeOverrideRecord(said, { by, reason }, record);
      const change = override?.named === undefined ? 'created' : 'changed';
      if (dryRun || (await this.#write('put', recordNameOf(name, target), after, stored))) {
        return { ...shownOverride(name, target, after), change, before };
      }
    }
    throw tooBusy(`the override of ${name}`);
  }

  async remove(name: string, target: Target, audit: Audit): Promise<boolean> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      await this.#cache.load();
      const { override, record, stored } = await this.#current(name, target);
      if (stored === undefined || (record !== undefined && override?.named === undefined)) return false;
      const version = this.#nextVersion(name, target, record, undefined);
      const tombstone = makeOverrideRecord({ version }, audit, record);
      if (await this.#write('remove', recordNameOf(name, target), tombstone, stored)) return true;
    }
    throw tooBusy(`the override of ${name}`);
  }

  /** Undefined where none is in force for this target itself. */
  async get(name: string, target: Target): Promise<PolicyOverride | undefined> {
    await this.#cache.load();
    const { override, record } = await this.#current(name, target);
    const isInForce = override?.named !== undefined && override.untilMs > this.#cache.overrides.clock.nowMs();
    return isInForce && record !== undefined ? shownOverride(name, target, record) : undefined;
  }

  /** In the order of the source; with `concerning` the one that counts first. */
  async list(name: string, { ended, limit, startsWith, concerning }: ListSettings): Promise<readonly PolicyOverride[]> {
    await this.#cache.load();
    const { clock } = this.#cache.overrides;
    const found: PolicyOverride[] = [];
    for await (const [recordName, record] of concerning ? this.#recordsFor(name, concerning) : this.records()) {
      const target = readRecordName(recordName);
      if (target?.policy !== name || !target.text.startsWith(startsWith)) continue;
      const read = readable(name, record);
      if (read === undefined) continue;
      const isInForce = read.override.named !== undefined && read.override.untilMs > clock.nowMs();
      if (ended || isInForce) found.push(shownOverride(name, target, read.record));
      if (found.length === limit) break;
    }
    return found;
  }

  async *#recordsFor(name: string, concerning: Target): AsyncGenerator<readonly [string, unknown]> {
    for (const [target] of this.#cache.overrides.of(name)?.concerning(concerning) ?? []) {
      yield [recordNameOf(name, target), (await this.#current(name, target)).stored];
    }
  }

  /** All that the source has, by their names, as it returns them. */
  async *records(): AsyncGenerator<readonly [string, unknown]> {
    const { overrides } = this.#cache.source;
    if (overrides === undefined) {
      yield* this.#cache.records;
      return;
    }
    let cursor: string | undefined;
    let hasMore = true;
    while (hasMore) {
      const page = await overrides.changes(cursor);
      yield* page.records;
      ({ cursor, hasMore } = page);
    }
  }

  /** The policy that counts for a target at present. */
  #countedFor(name: string, target: Target): Policy {
    const base = this.#cache.get(name) as Extract<PolicyDefinition, { state: 'usable' }>;
    const nowMs = this.#cache.overrides.clock.nowMs();
    const overrides = this.#cache.overrides.of(name)?.concerning(target) ?? [];
    const { override } = inForce(
      overrides.map(([, one]) => one),
      ({ untilMs }) => untilMs <= nowMs,
    );
    return unnamed((override?.named ?? base.named).policy);
  }

  #checkBase(name: string, kind: string): void {
    const base = this.#cache.get(name);
    if (base?.state !== 'usable') {
      throw new PolicyError(
        'name',
        `an override needs the managed policy ${name}, which ${base === undefined ? 'does not exist' : 'is not in use'}: put it first`,
      );
    }
    if (base.named.algorithm.name === kind) return;
    throw new PolicyError(
      'policy',
      `policy must be a ${base.named.algorithm.name}, as ${name} is: an override changes numbers, not the kind; got ${kind}`,
    );
  }

  #checkUntil(until: number | undefined): void {
    const nowMs = this.#cache.overrides.clock.nowMs();
    if (until !== undefined && until <= nowMs) {
      throw invalidOption(
        'until',
        `later than now, ${new Date(nowMs).toISOString()} by the clock of the source`,
        until,
      );
    }
  }

  #nextVersion(name: string, target: Target, stored: OverrideRecord | undefined, numbers: string | undefined): number {
    const { overrides } = this.#cache;
    return nextVersion({
      target,
      numbers,
      baseVersion: this.#cache.get(name)?.version ?? 0,
      overrides: overrides.of(name),
      stored,
      nowMs: overrides.clock.nowMs(),
    });
  }

  async #current(name: string, target: Target): Promise<Partial<ReadOverride> & { readonly stored: unknown }> {
    const { source } = this.#cache;
    const recordName = recordNameOf(name, target);
    const stored = await (source.overrides?.read(recordName) ?? this.#cache.recordOf(recordName));
    return { ...(stored === undefined ? undefined : readable(name, stored)), stored };
  }
}

interface ReadOverride {
  readonly override: Override;
  readonly record: OverrideRecord;
}

/** Who and why stay as they are where they are not given. */
function sameAudit(record: Audit, { by = record.by, reason = record.reason }: Audit): boolean {
  return record.by === by && record.reason === reason;
}

function readable(name: string, record: unknown): ReadOverride | undefined {
  try {
    return { override: readOverride(name, record), record: record as OverrideRecord };
  } catch {
    return undefined; // it can be put again
  }
}

/** An override as programs are shown it. */
export function shownOverride(name: string, { kind, text }: Target, record: OverrideRecord): PolicyOverride {
  const { policy = null, untilMs = null, by = null, reason = null, changedAtMs, version } = record;
  return {
    name,
    target: kind === 'key' ? text : { prefix: text },
    policy,
    untilMs,
    by,
    reason,
    changedAtMs,
    version,
  };
}
