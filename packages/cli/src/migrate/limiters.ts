import { importsOf, type Import } from '../project/imports.ts';
import { lineOf, nameOf, walk, type SourceFile, type SyntaxNode } from '../project/source-file.ts';
import type { Peer } from './peers.ts';

/** A place that makes a limiter, or hands one on. */
export interface Limiter {
  readonly peer: string;
  readonly path: string;
  readonly line: number;
  /** The first line of the code. */
  readonly text: string;
  readonly call: SyntaxNode;
}

/** The imports of one package in a file, and the limiters that are made with them. */
export interface Uses {
  readonly imports: readonly Import[];
  readonly limiters: readonly Limiter[];
  /** The names in this file that make limiters. */
  readonly makers: ReadonlySet<string>;
}

export function usesOf(file: SourceFile, peer: Peer): Uses {
  const imports = importsOf(file).filter(({ module }) => module === peer.name || module.startsWith(`${peer.name}/`));
  const makers = new Set(
    imports.flatMap(({ names }) => [...names].filter(([, name]) => peer.makers.includes(name)).map(([local]) => local)),
  );
  const whole = new Set(
    imports.flatMap(({ names }) => [...names].filter(([, name]) => name === '*').map(([local]) => local)),
  );
  const limiters: Limiter[] = [];
  walk(file.program, (node) => {
    if (isMade(node, makers, whole, peer)) {
      limiters.push({
        peer: peer.name,
        path: file.path,
        line: lineOf(file, node),
        text: firstLine(file, node),
        call: node,
      });
    }
  });
  return { imports, limiters, makers };
}

function isMade(node: SyntaxNode, makers: ReadonlySet<string>, whole: ReadonlySet<string>, peer: Peer): boolean {
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return false;
  const callee = node['callee'] as SyntaxNode;
  const isMaker = (value: unknown): boolean => makers.has(nameOf(value) ?? '');
  // `fastify.register(rateLimit, options)`
  if (peer.name === '@fastify/rate-limit') return (node['arguments'] as readonly unknown[]).some(isMaker);
  if (isMaker(callee)) return true;
  if (callee.type !== 'MemberExpression') return false;
  const [object, property] = [nameOf(callee['object']) ?? '', nameOf(callee['property']) ?? ''];
  // `all.rateLimit()`, and `ThrottlerModule.forRoot()`
  return (
    (whole.has(object) && peer.makers.includes(property)) || (makers.has(object) && property.startsWith('forRoot'))
  );
}

function firstLine({ text }: SourceFile, { start, end }: SyntaxNode): string {
  const [line = '', next] = text.slice(start, end).split('\n');
  return next === undefined ? line : `${line} ...`;
}
