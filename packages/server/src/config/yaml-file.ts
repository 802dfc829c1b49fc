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
import { YamlValue, type ValueFile } from './yaml-value.ts';

/** Open collections at once: a parser that is recursive, like the one of `yaml`, ends the process on many thousands. */
const DEEPEST = 200;
/** Nodes that are read: aliases of aliases could stand for more than any memory holds. */
const MOST_NODES = 5_000_000;

/** A file of YAML: its documents, and the problems that are found in it. */
export class YamlFile implements ValueFile {
  readonly path: string;
  /** One for each document that is not empty. Empty where the text is not YAML. */
  readonly documents: readonly YamlValue[];
  readonly #lines = new LineCounter();
  readonly #problems = new Map<string, { readonly offset: number; readonly message: string }>();
  readonly #targets = new Map<Alias, Node>();
  #nodes = 0;

  constructor(path: string, text: string) {
    this.path = path;
    const documents = this.#parse(text);
    this.documents = this.hasProblems ? [] : documents.flatMap((document) => this.#read(document));
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

  /**
   * The node that an alias stands for. Null, with a problem, where there is none, or where aliases multiply without
   * end.
   */
  resolved(node: Node | null, depth: number): Node | null {
    this.#nodes++;
    if (this.#nodes > MOST_NODES || depth > DEEPEST) {
      const isFirst = this.#nodes <= MOST_NODES + 1;
      this.#nodes = MOST_NODES + 1;
      if (isFirst) this.problem(node?.range?.[0] ?? 0, 'aliases repeat each other without end, or too often');
      return null;
    }
    if (!isAlias(node)) return node;
    const target = this.#targets.get(node);
    if (target === undefined) this.problem(node.range?.[0] ?? 0, `no anchor before this alias is named ${node.source}`);
    return target ?? null;
  }

  #parse(text: string): readonly Document.Parsed[] {
    const tokens = this.#tokens(text);
    if (this.hasProblems) return [];
    // Version 1.1, like the files that are read here: `yes` is true, and `<<` merges.
    const composer = new Composer({ version: '1.1', logLevel: 'silent' });
    const documents = [...composer.compose(tokens)];
    for (const { errors, warnings } of documents) {
      // The text after a colon is from the file, and may be a secret: this may be any file.
      for (const { message, pos } of [...errors, ...warnings]) this.problem(pos[0], message.split(':', 1).join(''));
    }
    for (const { message, pos } of composer.streamInfo().errors) this.problem(pos[0], message.split(':', 1).join(''));
    return documents;
  }

  #tokens(text: string): readonly CST.Token[] {
    const parser = new Parser(this.#lines.addNewLine);
    const tokens: CST.Token[] = [];
    this.#lines.addNewLine(0);
    for (const lexeme of new Lexer().lex(text)) {
      tokens.push(...parser.next(lexeme));
      if (parser.stack.length <= DEEPEST) continue;
      this.problem(parser.offset, `the file is nested more than ${String(DEEPEST)} levels deep`);
      return [];
    }
    tokens.push(...parser.end());
    return tokens;
  }

  #read(document: Document.Parsed): readonly YamlValue[] {
    const anchors = new Map<string, Node>();
    visit(document, {
      Node: (_key, node) => {
        if (!isAlias(node)) {
          if (node.anchor !== undefined) anchors.set(node.anchor, node);
          return;
        }
        const target = anchors.get(node.source);
        if (target !== undefined) this.#targets.set(node, target);
      },
    });
    const value = new YamlValue(this, document.contents, document.contents?.range[0] ?? 0, 0);
    return value.isMissing ? [] : [value];
  }
}
