import { dirname, join } from 'node:path/posix';
import { importsOf } from './imports.ts';
import type { Project } from './read-project.ts';
import { isNode, nameOf, stringOf, walk, type SourceFile, type SyntaxNode } from './source-file.ts';

/** A node, and the file that it is in. */
export interface Place {
  readonly file: SourceFile;
  readonly node: SyntaxNode;
}

/** An export of a package, by the name that the package gives it: `default`, or `*` for the whole package. */
export interface Exported {
  readonly module: string;
  readonly name: string;
}

/** The names of a file. A name that is declared twice, or assigned to, has no value. */
interface Names {
  readonly values: ReadonlyMap<string, SyntaxNode | undefined>;
  readonly imported: ReadonlyMap<string, Exported>;
  /** By exported name, the name in the file or the value. */
  readonly exported: ReadonlyMap<string, SyntaxNode>;
}

/** Around a value, without a change of it. */
const WRAPPERS = new Set([
  'ParenthesizedExpression',
  'ChainExpression',
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSInstantiationExpression',
]);
const MOST_STEPS = 8;
const ENDINGS = ['', '.ts', '.tsx', '.mts', '.js', '.mjs', '.cjs', '/index.ts', '/index.js'];

/** A node without parentheses and assertions of types around it. */
export function bare(node: SyntaxNode): SyntaxNode {
  return WRAPPERS.has(node.type) ? bare(node['expression'] as SyntaxNode) : node;
}

/** The name of a member that the text fixes: `a.name`, `a['name']`. */
export function memberName(node: SyntaxNode): string | undefined {
  return node['computed'] === true ? stringOf(node['property']) : nameOf(node['property']);
}

/** The arguments of a call, without wrappers. */
export function argumentsOf(call: SyntaxNode): readonly SyntaxNode[] {
  return (call['arguments'] as readonly SyntaxNode[]).map(bare);
}

/** A number that the text fixes: a literal, or sums and products of them. */
export function numberOf(node: SyntaxNode): number | undefined {
  const { type, value } = node;
  if (type === 'Literal') return typeof value === 'number' ? value : undefined;
  if (type !== 'BinaryExpression') return undefined;
  const [left, right] = [node['left'], node['right']].map((side) => numberOf(bare(side as SyntaxNode)));
  if (left === undefined || right === undefined) return undefined;
  return node['operator'] === '*' ? left * right : node['operator'] === '+' ? left + right : undefined;
}

/** What the names of a project stand for, as far as the text says it. */
export class Values {
  readonly #files: ReadonlyMap<string, SourceFile>;
  readonly #names = new Map<SourceFile, Names>();

  constructor({ files }: Pick<Project, 'files'>) {
    this.#files = new Map(files.map((file) => [file.path, file]));
  }

  /** Follows names, over files of the project too: to the value, or as far as it is known. */
  valueOf({ file, node }: Place, steps: number = MOST_STEPS): Place {
    const own = bare(node);
    const name = nameOf(own);
    if (name === undefined || steps === 0) return { file, node: own };
    const { values, imported } = this.#namesOf(file);
    const value = values.get(name);
    if (value !== undefined) return this.valueOf({ file, node: value }, steps - 1);
    const from = values.has(name) ? undefined : imported.get(name);
    const found = from === undefined ? undefined : this.#inProject(file, from);
    return found === undefined ? { file, node: own } : this.valueOf(found, steps - 1);
  }

  /** The export of a package that a name or a member stands for: `rateLimit`, `sluice.rateLimit`. */
  exportOf({ file, node }: Place): Exported | undefined {
    const { file: at, node: found } = this.valueOf({ file, node });
    const { imported, values } = this.#namesOf(at);
    if (found.type === 'MemberExpression') {
      const whole = this.exportOf({ file: at, node: found['object'] as SyntaxNode });
      const name = memberName(found);
      return whole?.name !== '*' || name === undefined ? undefined : { module: whole.module, name };
    }
    const name = nameOf(found);
    if (name === undefined || values.has(name)) return undefined;
    const from = imported.get(name);
    return from?.module.startsWith('.') === true ? undefined : from;
  }

  #inProject(file: SourceFile, { module, name }: Exported): Place | undefined {
    if (!module.startsWith('.')) return undefined;
    const base = join(dirname(file.path), module);
    const paths = ENDINGS.flatMap((ending) => [base + ending, withoutEnding(base) + ending]);
    const target = paths.map((path) => this.#files.get(path)).find((found) => found !== undefined);
    const node = target === undefined ? undefined : this.#namesOf(target).exported.get(name);
    return target === undefined || node === undefined ? undefined : { file: target, node };
  }

  #namesOf(file: SourceFile): Names {
    let names = this.#names.get(file);
    if (names === undefined) this.#names.set(file, (names = namesOf(file)));
    return names;
  }
}

/** TypeScript's `./store.js` is the file `store.ts`. */
function withoutEnding(path: string): string {
  const dot = path.lastIndexOf('.');
  return dot > path.lastIndexOf('/') ? path.slice(0, dot) : path;
}

function namesOf(file: SourceFile): Names {
  const values = new Map<string, SyntaxNode | undefined>();
  const exported = new Map<string, SyntaxNode>();
  const imported = new Map<string, Exported>();
  for (const { module, names } of importsOf(file)) {
    for (const [local, name] of names) imported.set(local, { module, name });
  }
  const declare = (name: string, value: SyntaxNode | undefined): void => {
    values.set(name, values.has(name) ? undefined : value);
  };
  walk(file.program, (node) => {
    for (const [name, value] of declaredBy(node)) if (value !== undefined || !imported.has(name)) declare(name, value);
    for (const [name, value] of exportedBy(node)) exported.set(name, value);
  });
  return { values, imported, exported };
}

/** Names that a node declares or changes, with their values where the text fixes them. */
function declaredBy(node: SyntaxNode): readonly (readonly [string, SyntaxNode | undefined])[] {
  if (node.type === 'VariableDeclarator') return declaredByVariable(node['id'] as SyntaxNode, node['init']);
  if (node.type === 'AssignmentExpression') return namesIn(node['left'] as SyntaxNode).map((name) => [name, undefined]);
  if (node.type === 'CatchClause') return namesIn(node['param']).map((name) => [name, undefined]);
  if (!isFunction(node) && node.type !== 'ClassDeclaration') return [];
  const own = node.type.endsWith('Declaration') ? nameOf(node['id']) : undefined;
  const parameters = isFunction(node) ? parametersOf(node).flatMap(namesIn) : [];
  return [
    ...(own === undefined ? [] : [[own, node] as const]),
    ...parameters.map((name) => [name, undefined] as const),
  ];
}

function declaredByVariable(id: SyntaxNode, init: unknown): readonly (readonly [string, SyntaxNode | undefined])[] {
  const name = nameOf(id);
  if (name !== undefined)
    return isNode(init) && !isRequire(init) ? [[name, init]] : isNode(init) ? [] : [[name, undefined]];
  return isNode(init) && isRequire(init) ? [] : namesIn(id).map((inner) => [inner, undefined]);
}

/** Whether a value is `require(...)`: an import. */
function isRequire(node: SyntaxNode): boolean {
  const call = node.type === 'MemberExpression' ? (node['object'] as SyntaxNode) : node;
  return call.type === 'CallExpression' && nameOf(call['callee']) === 'require';
}

function exportedBy(node: SyntaxNode): readonly (readonly [string, SyntaxNode])[] {
  if (node.type === 'ExportDefaultDeclaration') return [['default', node['declaration'] as SyntaxNode]];
  if (node.type !== 'ExportNamedDeclaration' || isNode(node['source'])) return [];
  const { declaration } = node;
  const declared = !isNode(declaration)
    ? []
    : declaration.type === 'VariableDeclaration'
      ? (declaration['declarations'] as readonly SyntaxNode[]).map(({ id }) => id)
      : [declaration['id']];
  const specifiers = (node['specifiers'] as readonly SyntaxNode[]).map(({ local, exported }) => [exported, local]);
  return [...declared.map((id) => [id, id]), ...specifiers].flatMap(([as, local]) => {
    const name = nameOf(as);
    return name === undefined || !isNode(local) ? [] : [[name, local] as const];
  });
}

/** The names that a pattern declares. */
function namesIn(pattern: unknown): readonly string[] {
  if (!isNode(pattern)) return [];
  const name = nameOf(pattern);
  if (name !== undefined) return [name];
  const parts: readonly unknown[] = [
    ...((pattern['properties'] ?? pattern['elements'] ?? []) as readonly unknown[]),
    pattern['value'],
    pattern['argument'],
    pattern['left'],
    pattern['parameter'],
  ];
  return pattern.type === 'MemberExpression' ? [] : parts.flatMap(namesIn);
}

/** The parameters of a function. */
export function parametersOf(node: SyntaxNode): readonly SyntaxNode[] {
  const { params } = node;
  return Array.isArray(params) ? (params as readonly SyntaxNode[]) : [];
}

export function isFunction(node: SyntaxNode): boolean {
  return (
    node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression' || node.type === 'FunctionDeclaration'
  );
}

/** What a function may return, as far as it is written as an expression: `undefined` for a bare `return`. */
export function returnedBy(node: SyntaxNode): readonly (SyntaxNode | undefined)[] {
  const body = node['body'] as SyntaxNode;
  if (body.type !== 'BlockStatement') return [bare(body)];
  const returned: (SyntaxNode | undefined)[] = [];
  walk(body, (inner, above) => {
    if (inner.type !== 'ReturnStatement' || above.some(isFunction)) return;
    returned.push(isNode(inner['argument']) ? bare(inner['argument']) : undefined);
  });
  return returned;
}
