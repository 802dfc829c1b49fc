import {
  Composer,
  isAlias,
  Lexer,
  LineCounter,
  Parser,
  visit,
  type Alias,
  type CST,
  type Document,
  type Node,
} from 'yaml';
import type { Place, Problem } from './configuration-error.ts';

/** How deep values may nest, including through aliases. */
const MAX_DEPTH = 200;

const TOO_DEEP: string = `values are nested more than ${String(MAX_DEPTH)} levels deep`;

/** How many values aliases may repeat: aliases of aliases could expand to more than any memory holds. */
const MAX_REPEATED = 100_000;

/** A YAML file: its documents, and the problems found in it. */
export class YamlFile {
  readonly path: string;
  /** The content of each document. None if the text is not YAML. */
  readonly contents: readonly (Node | null)[];
  readonly #lines = new LineCounter();
  readonly #problems = new Map<string, { readonly offset: number; readonly message: string }>();
  readonly #targets = new Map<Alias, Node>();
  /** How many values may still be read: as many as the text can have, plus those that aliases repeat. */
  #left: number;

  constructor(path: string, text: string) {
    this.path = path;
    this.#left = text.length + MAX_REPEATED;
    const contents = this.#parse(text).map((document) => document.contents);
    this.contents = this.hasProblems ? [] : contents;
  }

  /** In the order of the file. */
  get problems(): readonly Problem[] {
    return [...this.#problems.values()]
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ offset, message }) => ({ ...this.position(offset), message }));
  }

  get hasProblems(): boolean {
    return this.#problems.size > 0;
  }

  /** A problem is reported once, however often its place is read. */
  problem(offset: number, message: string): void {
    this.#problems.set(`${String(offset)}:${message}`, { offset, message });
  }

  position(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    return { path: this.path, line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  /** The node that an alias stands for. Null, with a problem, if there is none, or too many values nest or repeat. */
  resolved(node: Node | null, depth: number): Node | null {
    const at = node?.range?.[0] ?? 0;
    if (depth > MAX_DEPTH) this.problem(at, TOO_DEEP);
    if (--this.#left === 0) this.problem(at, `aliases repeat more than ${String(MAX_REPEATED)} values; write fewer`);
    if (depth > MAX_DEPTH || this.#left <= 0) return null;
    if (!isAlias(node)) return node;
    const target = this.#targets.get(node);
    if (target === undefined) this.problem(at, `no anchor before this alias is named ${node.source}`);
    return target ?? null;
  }

  #parse(text: string): readonly Document.Parsed[] {
    const tokens = this.#readTokens(text);
    const composer = new Composer({ merge: true, logLevel: 'silent', uniqueKeys: false });
    const documents = [...composer.compose(tokens)];
    for (const { errors, warnings } of [...documents, composer.streamInfo()]) {
      // The text after a colon comes from the file, which may be any file, and may be a secret.
      for (const { message, pos } of [...errors, ...warnings]) this.problem(pos[0], message.split(':', 1).join(''));
    }
    for (const document of documents) this.#findTargets(document);
    return documents;
  }

  /**
   * `Composer` recurses for each level, and V8 may end a process whose stack is full, so deep files are rejected first.
   */
  #readTokens(text: string): readonly CST.Token[] {
    const parser = new Parser(this.#lines.addNewLine);
    const tokens: CST.Token[] = [];
    this.#lines.addNewLine(0);
    for (const lexeme of new Lexer().lex(text)) {
      tokens.push(...parser.next(lexeme));
      if (parser.stack.length <= MAX_DEPTH) continue;
      this.problem(parser.offset, TOO_DEEP);
      return [];
    }
    return [...tokens, ...parser.end()];
  }

  #findTargets(document: Document.Parsed): void {
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
  }
}
