import { isDeepStrictEqual } from 'node:util';
import type { AnyAlgorithm } from '../../algorithms/index.ts';
import type { PolicyBase } from '../../algorithms/algorithm.ts';
import type { Limit } from '../store.ts';

/** The keys of one scope: the slot of each subject. */
export class Table {
  readonly scope: string;
  readonly number: number;
  readonly slots: Map<string, number> = new Map();
  /** The algorithm whose states are kept as two numbers here, and a policy that they are read by. */
  algorithm: AnyAlgorithm | undefined = undefined;
  policy: PolicyBase | undefined = undefined;
  /** Policies, and whether they have the same numbers. */
  readonly #alike = new WeakMap<PolicyBase, boolean>();

  constructor(scope: string, number: number) {
    this.scope = scope;
    this.number = number;
  }

  /** Whether states of a limit are kept as two numbers here: of plain limits of one policy, and its numbers, all are. */
  packs({ plain, policies }: Limit): boolean {
    const named = policies[0];
    if (plain !== true || named === undefined || policies.length > 1) return false;
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

/** The tables that have keys, by their scopes. */
export class Tables {
  readonly #byScope = new Map<string, Table>();
  readonly #byNumber: (Table | undefined)[] = [];
  readonly #free: number[] = [];
  /** The limit that was asked for last, and its table: most requests are of the same limit as the one before. */
  #limit: Limit | undefined;
  #table: Table | undefined;

  /** The table of a limit, if it has keys. */
  of(limit: Limit): Table | undefined {
    if (limit !== this.#limit) {
      this.#table = this.#byScope.get(limit.scope);
      this.#limit = limit;
    }
    return this.#table;
  }

  /** The table of a scope that is going to have a key. */
  add(scope: string): Table {
    let table = this.#byScope.get(scope);
    if (table === undefined) {
      table = new Table(scope, this.#free.pop() ?? this.#byNumber.length);
      this.#byScope.set(scope, table);
      this.#byNumber[table.number] = table;
      this.#limit = undefined;
    }
    return table;
  }

  at(number: number): Table {
    return this.#byNumber[number] as Table;
  }

  /** Forgets a key; with the last one of a scope, its table. */
  delete(table: Table, subject: string): void {
    table.slots.delete(subject);
    if (table.slots.size > 0) return;
    this.#byScope.delete(table.scope);
    this.#byNumber[table.number] = undefined;
    this.#free.push(table.number);
    this.#limit = undefined;
    this.#table = undefined;
  }
}
