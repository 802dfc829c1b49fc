import { suggest } from '@sluice/core/spi';
import { isMap, isScalar, isSeq, type Node, type YAMLMap } from 'yaml';
import type { Place } from './configuration-error.ts';
import type { YamlFile } from './yaml-file.ts';

/** A field of a map. */
export interface YamlField {
  readonly name: string;
  readonly value: YamlValue;
}

const MAX_SHOWN = 60;
/** YAML 1.1's words for true and false, which files of envoyproxy/ratelimit may have. */
const TRUE = /^(?:true|y|yes|on)$/i;
const FALSE = /^(?:false|n|no|off)$/i;

/** A value of a file, or the place where one is missing. A value that cannot be read is reported as a problem. */
export class YamlValue {
  readonly #file: YamlFile;
  readonly #node: Node | null;
  readonly #at: number;
  readonly #depth: number;

  /** @param at - Where the value is named: its field, or itself in a list. */
  constructor(file: YamlFile, node: Node | null, at: number, depth: number) {
    this.#file = file;
    this.#node = file.resolved(node, depth);
    this.#at = at;
    this.#depth = depth;
  }

  /** Whether there is nothing, or null, which means the same. */
  get isMissing(): boolean {
    return this.#node === null || (isScalar(this.#node) && this.#node.value === null);
  }

  get isList(): boolean {
    return isSeq(this.#node);
  }

  get isMap(): boolean {
    return isMap(this.#node);
  }

  /** The place of its name. */
  get at(): Place {
    return this.#file.position(this.#at);
  }

  /** The same, for messages about another place: `path:line`. */
  get place(): string {
    const { path, line } = this.at;
    return `${path}:${String(line)}`;
  }

  /** Reports a problem: at a scalar itself, or at the name of a field with any other value or none. */
  problem(message: string): void {
    const own = isScalar(this.#node) && !this.isMissing ? this.#node.range?.[0] : undefined;
    this.#file.problem(own ?? this.#at, message);
  }

  /** Reports a problem at the name of the field. */
  problemAtName(message: string): void {
    this.#file.problem(this.#at, message);
  }

  /** The values of a list; none if it is missing. */
  items(where: string, expected: string): readonly YamlValue[] {
    if (this.isMissing) return [];
    if (isSeq(this.#node)) {
      return this.#node.items.map((item) => {
        const node = item as Node | null;
        return this.#inside(node, node?.range?.[0] ?? this.#at);
      });
    }
    this.problem(`${where} must be a list of ${expected}, got ${this.#shown()}`);
    return [];
  }

  /** The fields of a map with any names; none if it is missing. */
  fields(where: string, expected: string): readonly YamlField[] {
    if (this.isMissing) return [];
    if (isMap(this.#node)) return this.#fieldsOf(this.#node, where);
    this.problem(`${where} must hold ${expected}, got ${this.#shown()}`);
    return [];
  }

  /** The fields of a map with known names, or the places where they are missing. Reports other names. */
  record<Name extends string>(
    known: readonly Name[],
    where: string,
    expected: string,
  ): Readonly<Record<Name, YamlValue>> {
    const fields = this.fields(where, expected);
    for (const { name, value } of fields) {
      if (!(known as readonly string[]).includes(name)) value.problemAtName(unknownName(where, name, known));
    }
    return this.#choose(known, fields);
  }

  /** Like {@link record}, but ignores other names. */
  pick<Name extends string>(
    known: readonly Name[],
    where: string,
    expected: string,
  ): Readonly<Record<Name, YamlValue>> {
    return this.#choose(known, this.fields(where, expected));
  }

  #choose<Name extends string>(
    known: readonly Name[],
    fields: readonly YamlField[],
  ): Readonly<Record<Name, YamlValue>> {
    const found = new Map(fields.map((field) => [field.name, field.value]));
    const missing = new YamlValue(this.#file, null, this.#at, 0);
    return Object.fromEntries(known.map((name) => [name, found.get(name) ?? missing])) as Record<Name, YamlValue>;
  }

  /** Reads a string as it is written, so that `yes` and 012 stay as they are. Undefined if it is missing. */
  text(where: string): string | undefined {
    if (this.isMissing) return undefined;
    const node = this.#node;
    if (isScalar(node)) return typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
    this.problem(`${where} must be a string, got ${this.#shown()}`);
    return undefined;
  }

  /** True or false; false if it is missing. */
  flag(where: string): boolean {
    if (this.isMissing) return false;
    const source = (isScalar(this.#node) && this.#node.type === 'PLAIN' && this.#node.source) || '';
    if (TRUE.test(source) || FALSE.test(source)) return TRUE.test(source);
    this.problem(`${where} must be true or false, got ${this.#shown()}`);
    return false;
  }

  /** A whole number. Undefined if it is missing, or anything else. */
  whole(where: string, least: number, most: number): number | undefined {
    if (this.isMissing) return undefined;
    const value = isScalar(this.#node) && this.#node.value;
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    const range = `${String(least)} to ${String(most)}`;
    this.problem(`${where} must be a whole number from ${range}, got ${this.#shown()}`);
    return undefined;
  }

  /** The value as in JSON. Times are strings. */
  plain(): unknown {
    const node = this.#node;
    if (isMap(node)) {
      const fields = this.#fieldsOf(node, 'a map').map(({ name, value }) => [name, value.plain()] as const);
      return Object.fromEntries(fields);
    }
    if (isSeq(node)) return this.items('a list', 'values').map((item) => item.plain());
    if (!isScalar(node)) return null;
    const { value, source } = node;
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    return typeof value === 'number' && Number.isFinite(value) ? value : (source ?? null);
  }

  /**
   * The fields of a map, and those of the maps that it merges by `<<`, which its own take precedence over.
   */
  #fieldsOf(map: YAMLMap, where: string): readonly YamlField[] {
    const fields: YamlField[] = [];
    const merged: YamlField[] = [];
    for (const pair of map.items) {
      const key = pair.key as Node;
      const at = key.range?.[0] ?? this.#at;
      const value = this.#inside(pair.value as Node | null, at);
      if (isScalar(key) && typeof key.value === 'symbol') merged.push(...value.#mergedFields(where));
      else if (isScalar(key)) fields.push({ name: new YamlValue(this.#file, key, at, 0).text(where) ?? '', value });
      else this.#file.problem(at, `${where} has a field whose name is not a string`);
    }
    this.#reportTwice(fields, where);
    if (merged.length === 0) return fields;
    const names = new Set(fields.map(({ name }) => name));
    for (const field of merged) {
      if (!names.has(field.name)) fields.push(field);
      names.add(field.name);
    }
    return fields;
  }

  /** Reports duplicate names in a map. */
  #reportTwice(fields: readonly YamlField[], where: string): void {
    const first = new Map<string, number>();
    for (const { name, value } of fields) {
      const earlier = first.get(name);
      if (earlier === undefined) first.set(name, value.#at);
      else {
        const line = String(this.#file.position(earlier).line);
        value.problemAtName(
          `${where} has the field ${quoted(name)} twice, the first time on line ${line}; write it once`,
        );
      }
    }
  }

  #mergedFields(where: string): readonly YamlField[] {
    if (isMap(this.#node)) return this.#fieldsOf(this.#node, where);
    if (isSeq(this.#node)) return this.items('<<', 'maps').flatMap((item) => item.#mergedFields(where));
    this.problem(`<< must name a map, or a list of maps, got ${this.#shown()}`);
    return [];
  }

  #inside(node: Node | null, at: number): YamlValue {
    return new YamlValue(this.#file, node, at, this.#depth + 1);
  }

  #shown(): string {
    if (isMap(this.#node)) return 'a map';
    if (isSeq(this.#node)) return 'a list';
    if (this.isMissing || !isScalar(this.#node)) return 'nothing';
    const { value, source } = this.#node;
    return typeof value === 'string' ? quoted(value) : (source ?? String(value));
  }
}

/** The message about a field with an unknown name, with the name that was probably meant. */
export function unknownName(where: string, name: string, known: readonly string[]): string {
  const instead = suggest(name, known).replace(/"(.+)"\?$/, '$1?');
  return `${where} has no field ${JSON.stringify(name)}; ${instead}`;
}

/** A string as messages show it: shortened. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text);
}

/** The documents of a file that are not empty. */
export function readDocuments(file: YamlFile): readonly YamlValue[] {
  const documents = file.contents.map((node) => new YamlValue(file, node, node?.range?.[0] ?? 0, 0));
  return documents.filter((document) => !document.isMissing);
}
