import { isNode, nameOf, stringOf, type SyntaxNode } from '../project/source-file.ts';

/** The options of a limiter, where they are written at its call: by name, the value. Undefined for any other argument. */
export function optionsAt(call: SyntaxNode): ReadonlyMap<string, SyntaxNode> | undefined {
  const [given, ...more] = call['arguments'] as readonly unknown[];
  if (given === undefined) return new Map();
  if (more.length > 0 || !isNode(given) || given.type !== 'ObjectExpression') return undefined;
  const options = new Map<string, SyntaxNode>();
  for (const property of given['properties'] as readonly SyntaxNode[]) {
    const name = property['computed'] === true ? undefined : (nameOf(property['key']) ?? stringOf(property['key']));
    if (property.type !== 'Property' || name === undefined) return undefined;
    options.set(name, property['value'] as SyntaxNode);
  }
  return options;
}

export function isFunction(node: SyntaxNode | undefined): boolean {
  return node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';
}

/** What a literal says; undefined for any other expression. */
export function literalOf(node: SyntaxNode | undefined): unknown {
  return node?.type === 'Literal' ? node['value'] : undefined;
}
