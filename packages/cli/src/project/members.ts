import { isNode, nameOf, stringOf, type SyntaxNode } from './source-file.ts';
import { bare, type Place, type Values } from './values.ts';

/** The members of an object that is written in the text, or in another file of the project. */
export interface Members {
  readonly place: Place;
  readonly of: ReadonlyMap<string, Place>;
  /** Whether no other members are added by what the text does not show. */
  readonly areAll: boolean;
}

/** The members of what a place stands for; undefined where that is not an object that is written. */
export function membersOf(values: Values, place: Place): Members | undefined {
  const { file, node } = values.valueOf(place);
  if (node.type !== 'ObjectExpression') return undefined;
  const members = new Map<string, Place>();
  let areAll = true;
  for (const property of node['properties'] as readonly SyntaxNode[]) {
    if (property.type === 'SpreadElement') {
      const spread = membersOf(values, { file, node: property['argument'] as SyntaxNode });
      for (const [name, value] of spread?.of ?? []) members.set(name, value);
      areAll &&= spread?.areAll ?? false;
      continue;
    }
    const name = nameOfKey(property);
    if (name === undefined) areAll = false;
    else members.set(name, { file, node: bare(property['value'] as SyntaxNode) });
  }
  return { place: { file, node }, of: members, areAll };
}

/** The elements of an array that is written; undefined where it is not. */
export function elementsOf(values: Values, place: Place): readonly Place[] | undefined {
  const { file, node } = values.valueOf(place);
  if (node.type !== 'ArrayExpression') return undefined;
  return (node['elements'] as readonly unknown[])
    .filter(isNode)
    .filter(({ type }) => type !== 'SpreadElement')
    .map((element) => ({ file, node: bare(element) }));
}

export function nameOfKey(property: SyntaxNode): string | undefined {
  const { key, computed } = property;
  return computed === true ? undefined : (nameOf(key) ?? stringOf(key));
}
