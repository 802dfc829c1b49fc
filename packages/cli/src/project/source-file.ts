/** A node of ESTree. Offsets are those of the text. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** A file of JavaScript or TypeScript, read and parsed. */
export interface SourceFile {
  /** From the folder of the project, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly program: SyntaxNode;
}

export function lineOf({ text }: SourceFile, { start }: Pick<SyntaxNode, 'start'>): number {
  return text.slice(0, start).split('\n').length;
}

/** Calls for a node, and for all below it, with the nodes above: the nearest one last. */
export function walk(
  node: SyntaxNode,
  visit: (node: SyntaxNode, above: readonly SyntaxNode[]) => void,
  above: readonly SyntaxNode[] = [],
): void {
  visit(node, above);
  const below = [...above, node];
  for (const child of childrenOf(node)) walk(child, visit, below);
}

export function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  return Object.values(node).flatMap((value) =>
    Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [],
  );
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof (value as Partial<SyntaxNode> | null)?.type === 'string';
}

/** The text of a string literal. */
export function stringOf(node: unknown): string | undefined {
  if (!isNode(node) || node.type !== 'Literal') return undefined;
  const { value } = node;
  return typeof value === 'string' ? value : undefined;
}

export function nameOf(node: unknown): string | undefined {
  return isNode(node) && node.type === 'Identifier' ? (node['name'] as string) : undefined;
}
