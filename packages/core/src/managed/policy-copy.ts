import { warnOnce } from '../warnings.ts';
import { compile, type Policy } from '../policies/index.ts';
import { readSubject } from '../values/key.ts';
import { RecordReader, type Held } from './record.ts';
import { readRecordName, writeRecordName, type Target } from './target.ts';

/** How long a removal is kept, and what has ended. A process that was cut off for longer may bring it back. */
export const WEEK_MS: number = 7 * 86_400_000;

/** An override in force. */
export type Override = Held & { readonly policy: Policy };

/** The records of one name. */
interface Shelf {
  base: Held | undefined;
  readonly overrides: Readonly<Record<Target['kind'], Map<string, Held>>>;
  /** The distinct lengths of prefixes, the longest first. */
  lengths: readonly number[];
}

/** All records of a source in memory. Limiters look up their policies here. */
export class PolicyCopy {
  readonly #shelves = new Map<string, Shelf>();
  readonly #reader = new RecordReader();
  readonly #now: () => number;

  /** @param now - The clock of the source. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Keeps a record, unless the one that is known was put later. Returns whether the given one is valid now. */
  adopt(name: string, given: unknown): boolean {
    const { policy, target } = readRecordName(name);
    const shelf = this.#shelfOf(policy);
    const before = target === undefined ? shelf.base : shelf.overrides[target.kind].get(target.text);
    const held = this.#reader.read(given, before);
    if (before !== undefined && before.record.atMs > held.record.atMs) return false;
    if (target === undefined) {
      shelf.base = held;
      return true;
    }
    shelf.overrides[target.kind].set(target.text, held);
    const { length } = target.text;
    if (target.kind === 'prefix' && !shelf.lengths.includes(length)) {
      shelf.lengths = [...shelf.lengths, length].sort((a, b) => b - a);
    }
    if (held.problem !== undefined) warnOfOverride(policy, held.problem);
    return true;
  }

  /** The record of a policy or of an override, by its name in the source. */
  get(name: string): Held | undefined {
    const { policy, target } = readRecordName(name);
    const shelf = this.#shelves.get(policy);
    return target === undefined ? shelf?.base : shelf?.overrides[target.kind].get(target.text);
  }

  /** The record of a policy by its name alone. */
  base(name: string): Held | undefined {
    return this.#shelves.get(name)?.base;
  }

  /**
   * The policy that counts for a key at present: of the key itself, of the longest prefix, or of the name. Undefined if the
   * name has none.
   */
  find(name: string, key: string): Policy | undefined {
    const shelf = this.#shelves.get(name);
    if (shelf === undefined || shelf.overrides.key.size === 0) return this.findByPrefix(name, key);
    const held = shelf.overrides.key.get(readSubject(key));
    return isInForce(held, shelf.base, this.#now) ? held.policy : this.findByPrefix(name, key);
  }

  /** As {@link find}, for a key without an override of its own, or for a prefix. */
  findByPrefix(name: string, text: string): Policy | undefined {
    const shelf = this.#shelves.get(name);
    for (const length of shelf?.lengths ?? []) {
      const held = length <= text.length ? shelf?.overrides.prefix.get(text.slice(0, length)) : undefined;
      if (isInForce(held, shelf?.base, this.#now)) return held.policy;
    }
    return shelf?.base?.policy;
  }

  /** The override of a target itself, if it is in force. */
  override(name: string, { kind, text }: Target): Override | undefined {
    const shelf = this.#shelves.get(name);
    const held = shelf?.overrides[kind].get(text);
    return isInForce(held, shelf?.base, this.#now) ? held : undefined;
  }

  /** The overrides of a policy that are in force. */
  overrides(name: string): readonly (readonly [Target, Override])[] {
    const found: [Target, Override][] = [];
    const shelf = this.#shelves.get(name);
    for (const kind of ['key', 'prefix'] as const) {
      for (const [text, held] of shelf?.overrides[kind] ?? []) {
        if (isInForce(held, shelf?.base, this.#now)) found.push([{ kind, text }, held]);
      }
    }
    return found;
  }

  /** The names of policies, sorted. */
  names(): readonly string[] {
    return [...this.#shelves.keys()].sort();
  }

  *entries(): Generator<readonly [name: string, Held]> {
    for (const [policy, { base, overrides }] of this.#shelves) {
      if (base !== undefined) yield [policy, base];
      for (const kind of ['key', 'prefix'] as const) {
        for (const [text, held] of overrides[kind]) yield [writeRecordName(policy, { kind, text }), held];
      }
    }
  }

  /** Whether a record is of no use and a week old: a removal, or an override that is not in force. */
  isExpired(name: string, held: Held): boolean {
    const { record, policy, problem } = held;
    const agoMs = this.#now() - WEEK_MS;
    if (record.atMs > agoMs || (record.untilMs ?? 0) > agoMs || problem !== undefined) return false;
    const { policy: of, target } = readRecordName(name);
    const base = this.base(of);
    if (target === undefined || policy === undefined) return policy === undefined;
    return base?.problem === undefined && !isInForce(held, base, this.#now);
  }

  delete(name: string): void {
    const { policy, target } = readRecordName(name);
    const shelf = this.#shelfOf(policy);
    if (target === undefined) shelf.base = undefined;
    else shelf.overrides[target.kind].delete(target.text);
    const { key, prefix } = shelf.overrides;
    if (prefix.size === 0) shelf.lengths = [];
    if (shelf.base === undefined && key.size + prefix.size === 0) this.#shelves.delete(policy);
  }

  #shelfOf(policy: string): Shelf {
    let shelf = this.#shelves.get(policy);
    if (shelf === undefined) {
      shelf = { base: undefined, overrides: { key: new Map(), prefix: new Map() }, lengths: [] };
      this.#shelves.set(policy, shelf);
    }
    return shelf;
  }
}

/** Whether an override is in force: of the present life and the kind of its policy, and not ended. */
function isInForce(held: Held | undefined, base: Held | undefined, now: () => number): held is Override {
  if (held?.policy === undefined || base?.policy === undefined || held.record.life !== base.record.life) return false;
  if (compile(held.policy).kind !== compile(base.policy).kind) return false;
  return held.record.untilMs === undefined || held.record.untilMs > now();
}

function warnOfOverride(policy: string, problem: string): void {
  warnOnce(
    'SLUICE_OVERRIDE_UNUSABLE',
    `an override of the managed policy ${policy} is not in force: ${problem}. Its keys have the numbers of the policy; put it again, or remove it.`,
    policy,
  );
}
