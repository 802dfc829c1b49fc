import { compile, type Policy } from '../policies/index.ts';
import { readSubject } from '../values/key.ts';
import { warnOnce } from '../warnings.ts';
import { readRecord, type Held } from './record.ts';
import { readRecordName, writeRecordName, type Target } from './target.ts';

/** How long removals and ended overrides are kept. A process that was cut off for longer may bring them back. */
const WEEK_MS = 7 * 86_400_000;

/** An override in force. */
export type Override = Held & { readonly policy: Policy };

/** All records of a source in memory. Limiters look up their policies here. */
export class PolicyCopy {
  readonly #records = new Map<string, Held>();
  /** For each policy that ever had overrides: the lengths of their prefixes, longest first. */
  readonly #lengths = new Map<string, readonly number[]>();
  readonly #now: () => number;

  /** @param now - The clock of the source. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Keeps a record, unless the known one was put later. A policy stays in force if the record that replaces it cannot be
   * used. Returns whether the given one is now valid.
   */
  adopt(name: string, given: unknown): boolean {
    const before = this.#records.get(name);
    let held = readRecord(given);
    const { atMs } = held.record;
    if (before !== undefined && before.record.atMs > atMs) return false;
    if (held.problem !== undefined && before?.policy !== undefined) {
      const message = `The new record of ${name} cannot be used (${held.problem}). The policy that was read before stays in force.`;
      warnOnce('SLUICE_POLICIES_AWAY', message, name);
      held = { ...before, record: { ...before.record, atMs }, problem: held.problem };
    }
    this.#records.set(name, held);
    const { policy, target } = readRecordName(name);
    if (target === undefined) return true;
    const lengths = this.#lengths.get(policy) ?? [];
    const isNew = target.kind === 'prefix' && !lengths.includes(target.text.length);
    this.#lengths.set(policy, isNew ? [...lengths, target.text.length].sort((a, b) => b - a) : lengths);
    return true;
  }

  /** The record of a policy or of an override, by its name in the source. */
  get(name: string): Held | undefined {
    return this.#records.get(name);
  }

  /**
   * The policy that applies to a key now: of the key itself, of the longest prefix, or of the name. Undefined if the
   * name has none.
   */
  find(name: string, key: string): Policy | undefined {
    if (!this.#lengths.has(name)) return this.#records.get(name)?.policy;
    return this.override(name, { kind: 'key', text: readSubject(key) })?.policy ?? this.findByPrefix(name, key);
  }

  /** As {@link find}, for a key without an override of its own, or for a prefix. */
  findByPrefix(name: string, text: string): Policy | undefined {
    for (const length of this.#lengths.get(name) ?? []) {
      if (length > text.length) continue;
      const found = this.override(name, { kind: 'prefix', text: text.slice(0, length) });
      if (found !== undefined) return found.policy;
    }
    return this.#records.get(name)?.policy;
  }

  /** The override of a target itself, if it is in force. */
  override(name: string, target: Target): Override | undefined {
    const held = this.#records.get(writeRecordName(name, target));
    return this.#isInForce(name, held) ? held : undefined;
  }

  /** The overrides of a policy that are in force: of keys first, then of prefixes. */
  overrides(name: string): readonly (readonly [Target, Override])[] {
    const found = [...this.#records].flatMap(([recordName, held]): [Target, Override][] => {
      const { policy, target } = readRecordName(recordName);
      return policy === name && target !== undefined && this.#isInForce(name, held) ? [[target, held]] : [];
    });
    return found.sort(([a], [b]) => (a.kind < b.kind ? -1 : Number(a.kind > b.kind)));
  }

  /** The names of policies, sorted. */
  names(): readonly string[] {
    return [...this.#records.keys()].filter((name) => !name.includes(':')).sort();
  }

  entries(): IterableIterator<[name: string, Held]> {
    return this.#records.entries();
  }

  /** Whether a record is useless and a week old: a removal, or an override that is not in force. */
  isExpired(name: string, held: Held): boolean {
    const { record, policy, problem } = held;
    const agoMs = this.#now() - WEEK_MS;
    if (record.atMs > agoMs || (record.untilMs ?? 0) > agoMs || problem !== undefined) return false;
    const { policy: of, target } = readRecordName(name);
    if (target === undefined || policy === undefined) return policy === undefined;
    return this.#records.get(of)?.problem === undefined && !this.#isInForce(of, held);
  }

  delete(name: string): void {
    this.#records.delete(name);
  }

  /** Whether an override is in force: it has the current `life` and the kind of its policy, and has not ended. */
  #isInForce(name: string, held: Held | undefined): held is Override {
    const base = held && this.#records.get(name);
    if (held?.policy === undefined || base?.policy === undefined || held.record.life !== base.record.life) return false;
    if (compile(held.policy).kind !== compile(base.policy).kind) return false;
    return held.record.untilMs === undefined || held.record.untilMs > this.#now();
  }
}
