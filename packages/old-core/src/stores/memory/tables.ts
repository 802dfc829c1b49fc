import { isDeepStrictEqual } from 'node:util';
import type { AnyAlgorithm } from '../../algorithms/registry.ts';
import type { PolicyBase } from '../../algorithms/algorithm.ts';
import { ownerOf } from '../../engine/key.ts';
import type { Limit } from '../../engine/store.ts';
import type { Entry } from './entry.ts';
import { PinnedGroup } from './pinned-group.ts';

/** The keys of one key suffix: the record of each subject. */
export class Table {
  readonly keySuffix: string;
  readonly number: number;
  readonly records: Map<string, number> = new Map();
  /** Its keys that are pinned, but for those that `block` blocks. */
  readonly pinned: PinnedGroup<Entry> = new PinnedGroup();
  /** The algorithm whose states are stored as two numbers here, and a policy to read them. */
  algorithm: AnyAlgorithm | undefined = undefined;
  policy: PolicyBase | undefined = undefined;
  /** Per policy, whether it has the same numbers as {@link policy}. */
  readonly #alike = new WeakMap<PolicyBase, boolean>();

  constructor(keySuffix: string, number: number) {
    this.keySuffix = keySuffix;
    this.number = number;
  }

  /**
   * Whether states of a limit are stored as two numbers here: true for limits of the fast path with one policy that
   * has the numbers of this table's policy.
   */
  packs({ fastPathEligible, policies }: Limit): boolean {
    const named = policies[0];
    if (fastPathEligible !== true || named === undefined || policies.length > 1) return false;
    const { algorithm, policy } = named;
    if (policy === this.policy) return true;
    if (algorithm.packing === undefined) return false;
    if (this.policy === undefined) {
      this.algorithm = algorithm;
      this.policy = policy;
      return true;
    }
    let isAlike = this.#alike.get(policy);
    if (isAlike === undefined) {
      isAlike =
        algorithm === this.algorithm && isDeepStrictEqual(algorithm.numbers(policy), algorithm.numbers(this.policy));
      this.#alike.set(policy, isAlike);
    }
    return isAlike;
  }
}

/** The tables that have keys, by their key suffixes. */
export class Tables {
  readonly #bySuffix = new Map<string, Table>();
  readonly #byNumber: (Table | undefined)[] = [];
  readonly #free: number[] = [];
  /** The last limit and its table: most requests have the same limit as the request before. */
  #limit: Limit | undefined;
  #table: Table | undefined;

  /** The table of a limit, if it has keys. */
  of(limit: Limit): Table | undefined {
    if (limit !== this.#limit) {
      this.#table = this.#bySuffix.get(limit.keySuffix);
      this.#limit = limit;
    }
    return this.#table;
  }

  /** The tables of these owners: see `ownerOf`. */
  ownedBy(owners: readonly string[]): readonly Table[] {
    return [...this.#bySuffix.values()].filter(({ keySuffix }) => owners.includes(ownerOf(keySuffix)));
  }

  /** The table of a key suffix that gets a key. */
  add(keySuffix: string): Table {
    let table = this.#bySuffix.get(keySuffix);
    if (table === undefined) {
      table = new Table(keySuffix, this.#free.pop() ?? this.#byNumber.length);
      this.#bySuffix.set(keySuffix, table);
      this.#byNumber[table.number] = table;
      this.#limit = undefined;
    }
    return table;
  }

  get size(): number {
    return this.#bySuffix.size;
  }

  /** The pinned keys of the table that has most of them. */
  mostPinned(): PinnedGroup<Entry> | undefined {
    let most: PinnedGroup<Entry> | undefined;
    for (const { pinned } of this.#bySuffix.values()) if (pinned.size > (most?.size ?? 0)) most = pinned;
    return most;
  }

  at(number: number): Table {
    return this.#byNumber[number] as Table;
  }

  /** Removes a key, and with the last key of a suffix its table. */
  delete(table: Table, subject: string): void {
    table.records.delete(subject);
    if (table.records.size > 0) return;
    this.#bySuffix.delete(table.keySuffix);
    this.#byNumber[table.number] = undefined;
    this.#free.push(table.number);
    this.#limit = undefined;
    this.#table = undefined;
  }
}
