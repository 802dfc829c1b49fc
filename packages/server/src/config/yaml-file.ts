import {
  Composer,
  isAlias,
  Lexer,
  LineCounter,
  Parser,
  visit,
  type Alias,
  type Document,
  type Node,
  type CST,
} from 'yaml';
import type { Problem } from './configuration-error.ts';
import type { Steps } from './steps.ts';
import { joinParts, partsOf, shortNodesOf } from './yaml-parts.ts';
import { YamlValue, type ValueFile } from './yaml-value.ts';

/** Open collections at once: a parser that is recursive, like the one of `yaml`, ends the process on many thousands. */
const DEEPEST = 200;
/** Values that all aliases of a file stand for: aliases of aliases could stand for more than any memory holds. */
const MOST_REPEATED = 100_000;

/** What the parser is given in a step. */
const LEXEMES_OF_STEP = 256;

/** A file of YAML: its documents, and the problems that are found in it. */
export class YamlFile implements ValueFile {
  readonly path: string;
  readonly #documents: YamlValue[] = [];
  readonly #lines = new LineCounter();
  readonly #problems = new Map<string, { readonly offset: number; readonly message: string }>();
  readonly #targets = new Map<Alias, Node>();
  /** How many values the targets of aliases hold, with those of aliases inside. */
  readonly #sizes = new Map<Node, number>();
  #repeated = 0;

  private constructor(path: string) {
    this.path = path;
  }

  /** Reads a text, in steps. */
  static *read(path: string, text: string): Steps<YamlFile> {
    const file = new YamlFile(path);
    const documents = yield* file.#parse(text);
    for (const document of documents) if (!file.hasProblems) yield* file.#readDocument(document);
    return file;
  }

  /** One for each document that is not empty. Empty where the text is not YAML. */
  get documents(): readonly YamlValue[] {
    return this.hasProblems ? [] : this.#documents;
  }

  /** In the order of the file. */
  get problems(): readonly Problem[] {
    return [...this.#problems.values()]
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ offset, message }) => ({ path: this.path, ...this.position(offset), message }));
  }

  get hasProblems(): boolean {
    return this.#problems.size > 0;
  }

  /** The same problem counts once, however often its place is read. */
  problem(offset: number, message: string): void {
    this.#problems.set(`${String(offset)}:${message}`, { offset, message });
  }

  position(offset: number): { readonly line: number; readonly column: number } {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  /** The node that an alias stands for. Null, with a problem, where there is none, and below too many levels. */
  resolved(node: Node | null, depth: number): Node | null {
    if (depth > DEEPEST) {
      this.problem(node?.range?.[0] ?? 0, `aliases nest values more than ${String(DEEPEST)} levels deep`);
      return null;
    }
    if (!isAlias(node)) return node;
    const target = this.#targets.get(node);
    if (target === undefined) this.problem(node.range?.[0] ?? 0, `no anchor before this alias is named ${node.source}`);
    return target ?? null;
  }

  *#parse(text: string): Steps<readonly Document.Parsed[]> {
    const tokens = yield* this.#tokens(text);
    if (this.hasProblems) return [];
    // A directive is about the document that follows it, which is then composed as it is.
    const isPlain = tokens.every(({ type }) => type !== 'directive');
    const parts = tokens.map((token) => (token.type === 'document' && isPlain ? partsOf(token) : [token]));
    // Version 1.1, like the files that are read here: `yes` is true, and `<<` merges.
    const composer = new Composer({ version: '1.1', logLevel: 'silent', uniqueKeys: false });
    const composed: Document.Parsed[] = [];
    for (const token of parts.flat()) {
      for (const document of composer.next(token)) composed.push(document);
      yield;
    }
    for (const document of composer.end()) composed.push(document);
    for (const { errors, warnings } of composed) {
      // The text after a colon is from the file, and may be a secret: this may be any file.
      for (const { message, pos } of [...errors, ...warnings]) this.problem(pos[0], message.split(':', 1).join(''));
    }
    for (const { message, pos } of composer.streamInfo().errors) this.problem(pos[0], message.split(':', 1).join(''));
    return joined(composed, parts);
  }

  *#tokens(text: string): Steps<readonly CST.Token[]> {
    const parser = new Parser(this.#lines.addNewLine);
    const tokens: CST.Token[] = [];
    this.#lines.addNewLine(0);
    let lexemes = 0;
    for (const lexeme of new Lexer().lex(text)) {
      tokens.push(...parser.next(lexeme));
      if (++lexemes % LEXEMES_OF_STEP === 0) yield;
      if (parser.stack.length <= DEEPEST) continue;
      this.problem(parser.offset, `the file is nested more than ${String(DEEPEST)} levels deep`);
      return [];
    }
    tokens.push(...parser.end());
    return tokens;
  }

  *#readDocument({ contents }: Document.Parsed): Steps<void> {
    const anchors = new Map<string, Node>();
    const take = (node: Node): void => {
      if (!isAlias(node)) {
        if (node.anchor !== undefined) anchors.set(node.anchor, node);
        return;
      }
      const target = anchors.get(node.source);
      if (target !== undefined) this.#refer(node, target);
    };
    for (const { node, isWhole } of shortNodesOf(contents)) {
      if (isWhole)
        visit(node as Node, {
          Node: (_key, inner) => {
            take(inner);
          },
        });
      else take(node as Node);
      yield;
    }
    const value = new YamlValue(this, contents, contents?.range[0] ?? 0, 0);
    if (!value.isMissing) this.#documents.push(value);
  }

  /** Lets an alias stand for a node, unless that holds the alias, or all aliases stand for too much. */
  #refer(alias: Alias, target: Node): void {
    const at = alias.range?.[0] ?? 0;
    if (at < (target.range?.[2] ?? 0)) {
      this.problem(at, `the alias ${alias.source} stands for a value that holds it`);
      return;
    }
    this.#targets.set(alias, target);
    const before = this.#repeated;
    this.#repeated += this.#sizeOf(target);
    if (before <= MOST_REPEATED && this.#repeated > MOST_REPEATED) {
      this.problem(at, `up to this alias, aliases repeat more than ${String(MOST_REPEATED)} values; write fewer`);
    }
  }

  #sizeOf(node: Node): number {
    const known = this.#sizes.get(node);
    if (known !== undefined) return known;
    let size = 0;
    visit(node, {
      Node: (_key, inner) => {
        size++;
        const target = isAlias(inner) ? this.#targets.get(inner) : undefined;
        if (target !== undefined) size += this.#sizes.get(target) ?? 0;
      },
    });
    this.#sizes.set(node, size);
    return size;
  }
}

/** The documents as they are in the file, of those that were composed of its parts. */
function joined(
  composed: readonly Document.Parsed[],
  parts: readonly (readonly CST.Token[])[],
): readonly Document.Parsed[] {
  const counts = parts.filter(([first]) => first?.type === 'document').map(({ length }) => length);
  let at = 0;
  return counts.map((count) => joinParts(composed.slice(at, (at += count)) as [Document.Parsed, ...Document.Parsed[]]));
}
