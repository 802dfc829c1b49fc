import { isNode, nameOf, stringOf, walk, type SourceFile, type SyntaxNode } from './source-file.ts';

/** One import of a module, in any of its forms. */
export interface Import {
  /** The module, as written. */
  readonly module: string;
  /** The literal that names it. */
  readonly literal: SyntaxNode;
  /** The whole statement, where it is one that only imports. */
  readonly statement: SyntaxNode | undefined;
  readonly form: 'import' | 'require' | 'reexport' | 'dynamic';
  /** By the name in this file, that of the export: `default`, or `*` for the whole module. */
  readonly names: ReadonlyMap<string, string>;
}

/** All imports of a file: of modules, of CommonJS, of TypeScript, and dynamic ones. */
export function importsOf({ program }: SourceFile): readonly Import[] {
  const imports: Import[] = [];
  walk(program, (node, above) => {
    const found = importOf(node, above);
    if (found !== undefined) imports.push(found);
  });
  return imports;
}

function importOf(node: SyntaxNode, above: readonly SyntaxNode[]): Import | undefined {
  if (node.type === 'ImportDeclaration') return made('import', node['source'], importedNames(node), node);
  if (node.type === 'ExportNamedDeclaration' || node.type === 'ExportAllDeclaration') {
    return made('reexport', node['source'], new Map(), node);
  }
  if (node.type === 'ImportExpression') return made('dynamic', node['source'], new Map());
  if (node.type === 'TSExternalModuleReference')
    return made('require', node['expression'], tsRequireNames(above.at(-1)), above.at(-1));
  if (node.type === 'CallExpression' && nameOf(node['callee']) === 'require') return requireOf(node, above);
  return undefined;
}

function made(
  form: Import['form'],
  literal: unknown,
  names: ReadonlyMap<string, string>,
  statement?: SyntaxNode,
): Import | undefined {
  const module = stringOf(literal);
  return module === undefined ? undefined : { form, module, literal: literal as SyntaxNode, names, statement };
}

function importedNames(node: SyntaxNode): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const specifier of node['specifiers'] as readonly SyntaxNode[]) {
    const local = nameOf(specifier['local']);
    if (local === undefined) continue;
    if (specifier.type === 'ImportDefaultSpecifier') names.set(local, 'default');
    else if (specifier.type === 'ImportNamespaceSpecifier') names.set(local, '*');
    else names.set(local, nameOf(specifier['imported']) ?? stringOf(specifier['imported']) ?? local);
  }
  return names;
}

function tsRequireNames(declaration: SyntaxNode | undefined): ReadonlyMap<string, string> {
  const local = nameOf(declaration?.['id']);
  return new Map(local === undefined ? [] : [[local, '*']]);
}

/** `const x = require()`, `const { x: y } = require()`, `const x = require().y`. */
function requireOf(call: SyntaxNode, above: readonly SyntaxNode[]): Import | undefined {
  const [literal] = call['arguments'] as readonly unknown[];
  const parent = above.at(-1);
  const member =
    parent?.type === 'MemberExpression' && parent['computed'] !== true ? nameOf(parent['property']) : undefined;
  const declarator = above.at(member === undefined ? -1 : -2);
  if (declarator?.type !== 'VariableDeclarator') return made('require', literal, new Map());
  const statement = above.at(member === undefined ? -2 : -3);
  const isAlone = (statement?.['declarations'] as readonly unknown[] | undefined)?.length === 1;
  return made('require', literal, declaredNames(declarator['id'], member ?? '*'), isAlone ? statement : undefined);
}

function declaredNames(pattern: unknown, whole: string): ReadonlyMap<string, string> {
  const local = nameOf(pattern);
  if (local !== undefined) return new Map([[local, whole]]);
  if (!isNode(pattern) || pattern.type !== 'ObjectPattern') return new Map();
  const names = (pattern['properties'] as readonly SyntaxNode[]).flatMap((property): [string, string][] => {
    const [name, value] = [nameOf(property['key']), nameOf(property['value'])];
    return name === undefined || value === undefined ? [] : [[value, name]];
  });
  return new Map(names);
}
