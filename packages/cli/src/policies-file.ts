import { readFileSync } from 'node:fs';
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
  type Scalar,
} from 'yaml';
import { PolicyError, type CarryOver, type Policy } from '@sluice/core';
import { insteadOf, nearest } from '@sluice/core/inspect';
import { UsageError, policyKinds, policyOf } from '@sluice/simulate/terminal';

/** A managed policy as a file defines it. */
export interface PolicyDefinition {
  readonly name: string;
  readonly policy: Policy;
  readonly apps: string[];
  readonly carryOver?: CarryOver;
  /** Adds the line of this definition in the file to an error. */
  readonly at: string;
}

export const CARRY_OVER: readonly CarryOver[] = ['keep', 'reset'];

const FIELDS = ['apps', 'carryOver'];

/**
 * Reads a file of policies; `-` is the standard input.
 *
 * @throws UsageError that lists every problem in the file, by line.
 */
export function readPoliciesFile(path: string): readonly PolicyDefinition[] {
  let text: string;
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
  return new PoliciesFile(path, text).definitions();
}

interface Entry {
  readonly name: string;
  readonly key: Node;
  readonly value: Node | null;
}

class PoliciesFile {
  readonly #path: string;
  readonly #lines = new LineCounter();
  readonly #document: Document.Parsed;
  readonly #problems: { readonly offset: number; readonly message: string }[] = [];

  constructor(path: string, text: string) {
    this.#path = path === '-' ? 'standard input' : path;
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false });
    // The text after a colon is from the file, and may be a secret: this may be any file.
    for (const { message, pos } of this.#document.errors) {
      this.#problems.push({ offset: pos[0], message: message.split(':', 1).join('') });
    }
  }

  definitions(): readonly PolicyDefinition[] {
    const found = this.#problems.length > 0 ? [] : this.#top();
    if (this.#problems.length > 0) {
      const inOrder = this.#problems.toSorted((a, b) => a.offset - b.offset);
      throw new UsageError(inOrder.map(({ offset, message }) => `${this.#at(offset)}: ${message}`).join('\n'));
    }
    return found;
  }

  #top(): readonly PolicyDefinition[] {
    const top = this.#entries(this.#document.contents, 'the file', 'policies: with a policy under each name');
    const policies = top.find(({ name }) => name === 'policies');
    for (const { name, key } of top) {
      // Without policies, this may be any file: no line of it is printed.
      if (name !== 'policies' && (policies !== undefined || nearest(name, ['policies']) !== undefined))
        this.#problem(key, `the file has no field ${quoted(name)}; ${insteadOf(name, ['policies'])}`);
    }
    if (policies === undefined) {
      if (this.#problems.length === 0) {
        this.#problem(
          this.#document.contents,
          'the file must hold policies: with a policy under each name; it has no field policies, so it is no file of policies',
        );
      }
      return [];
    }
    return this.#entries(policies.value, 'policies', 'a policy under each name').flatMap((entry) =>
      this.#definition(entry),
    );
  }

  #definition({ name, key, value }: Entry): readonly PolicyDefinition[] {
    const fields = this.#entries(
      value,
      name,
      'a policy such as fixedWindow: { limit: 100, window: 1m }, and apps: [checkout]',
    );
    for (const field of fields) {
      if (policyKinds.includes(field.name) || FIELDS.includes(field.name)) continue;
      this.#problem(
        field.key,
        `${name} has no field ${quoted(field.name)}; ${insteadOf(field.name, [...policyKinds, ...FIELDS])}`,
      );
    }
    const [kind, ...others] = fields.filter((field) => policyKinds.includes(field.name));
    if (kind === undefined) this.#problem(key, `${name} has no policy: one of ${policyKinds.join(', ')}`);
    for (const other of others) {
      this.#problem(other.key, `${name} has two policies, ${kind?.name ?? ''} and ${other.name}; only one is allowed`);
    }
    const policy = kind === undefined ? undefined : this.#policy(name, key, kind);
    const apps = this.#apps(name, key, fields);
    const carryOver = this.#carryOver(name, fields);
    if (policy === undefined || apps === undefined) return [];
    return [{ name, policy, apps, ...(carryOver === undefined ? {} : { carryOver }), at: this.#at(offsetOf(key)) }];
  }

  #policy(name: string, key: Node, kind: Entry): Policy | undefined {
    const fields = this.#entries(kind.value, kind.name, 'its options, such as { limit: 100, window: 1m }');
    const named = fields.find((field) => field.name === 'name');
    if (named !== undefined) {
      this.#problem(named.key, `${kind.name} must not have a name here: the policy is already named ${quoted(name)}`);
      return undefined;
    }
    try {
      return policyOf(kind.name, { ...this.#toObject(kind.value), name });
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      const at = error.field === 'name' ? key : fields.find((field) => field.name === error.field)?.key;
      this.#problem(at ?? kind.key, error.message);
      return undefined;
    }
  }

  #apps(name: string, key: Node, fields: readonly Entry[]): string[] | undefined {
    const apps = fields.find((field) => field.name === 'apps');
    const list = this.#resolved(apps?.value ?? null);
    const names = isSeq(list) ? list.items.map((item) => this.#resolved(item as Node)) : undefined;
    if (names?.every(isText) === true) return names.map(({ value }) => value);
    this.#problem(
      apps?.key ?? key,
      `${name} needs apps: the names of the applications that may use it, such as apps: [checkout]`,
    );
    return undefined;
  }

  #carryOver(name: string, fields: readonly Entry[]): CarryOver | undefined {
    const field = fields.find((one) => one.name === 'carryOver');
    if (field === undefined) return undefined;
    const value = this.#resolved(field.value);
    const found = CARRY_OVER.find((one) => isScalar(value) && value.value === one);
    if (found === undefined) this.#problem(field.key, `carryOver of ${name} must be keep or reset`);
    return found;
  }

  #entries(given: Node | null, where: string, expected: string): readonly Entry[] {
    const node = this.#resolved(given);
    if (!isMap(node)) {
      this.#problem(given, `${where} must hold ${expected}`);
      return [];
    }
    return node.items.map(({ key, value }) => ({
      name: isScalar(key) ? String(key.value) : '',
      key: key as Node,
      value: value as Node | null,
    }));
  }

  #resolved(node: Node | null): Node | null {
    return isAlias(node) ? (node.resolve(this.#document) ?? null) : node;
  }

  #toObject(node: Node | null): Readonly<Record<string, unknown>> {
    return (node === null ? {} : node.toJS(this.#document)) as Readonly<Record<string, unknown>>;
  }

  #problem(node: Node | null, message: string): void {
    this.#problems.push({ offset: offsetOf(node), message });
  }

  #at(offset: number): string {
    const { line, col } = this.#lines.linePos(offset);
    return `${this.#path}:${String(Math.max(line, 1))}:${String(Math.max(col, 1))}`;
  }
}

function offsetOf(node: Node | null): number {
  return node?.range?.[0] ?? 0;
}

function quoted(name: string): string {
  return JSON.stringify(name);
}

function isText(node: Node | null): node is Scalar<string> {
  return isScalar(node) && typeof node.value === 'string' && node.value !== '';
}
