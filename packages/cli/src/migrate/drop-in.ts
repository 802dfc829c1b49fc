import { stringOf, walk, nameOf, type SourceFile, type SyntaxNode } from '../project/source-file.ts';
import type { Edit } from './edits.ts';
import type { Limiter, Uses } from './limiters.ts';
import { isFunction, literalOf, optionsAt } from './options.ts';
import { EXPRESS_RATE_LIMIT } from './peers.ts';

/** The change of one file, or why it is left. */
export type FileChange = { readonly edits: readonly Edit[] } | { readonly why: string; readonly start: number };

export const DROP_IN = '@sluice/compat/express-rate-limit';
/** The version of express-rate-limit that the drop-in is like. */
const DROP_IN_MAJOR = 8;

/** Members of `MemoryStore` that are internal here. */
const INTERNAL = new Set(['interval', 'current', 'previous']);

/** The import alone: all else stays as it is. */
export function toDropIn(file: SourceFile, { imports }: Uses): FileChange {
  const deep = imports.find(({ module }) => module !== EXPRESS_RATE_LIMIT);
  if (deep !== undefined)
    return { why: `it imports ${deep.module}, which is no entry point of the package`, start: deep.literal.start };
  const other =
    namedElsewhere(file, imports) ??
    internalMember(
      file,
      imports.flatMap(({ names }) => [...names.values()]),
    );
  if (other !== undefined) return other;
  return { edits: imports.map(({ literal }) => ({ start: literal.start + 1, end: literal.end - 1, text: DROP_IN })) };
}

/** The name of the package as a text that is no import: a mock of a test, a declaration of types. */
export function namedElsewhere({ program }: SourceFile, imports: Uses['imports']): FileChange | undefined {
  const known = new Set(imports.map(({ literal }) => literal.start));
  let found: SyntaxNode | undefined;
  walk(program, (node) => {
    if (stringOf(node) === EXPRESS_RATE_LIMIT && !known.has(node.start)) found ??= node;
  });
  return found && { why: `it names ${EXPRESS_RATE_LIMIT} where nothing is imported`, start: found.start };
}

function internalMember({ program }: SourceFile, names: readonly string[]): FileChange | undefined {
  if (!names.includes('MemoryStore') && !names.includes('*')) return undefined;
  let found: SyntaxNode | undefined;
  walk(program, (node) => {
    const member = node.type === 'MemberExpression' ? nameOf(node['property']) : undefined;
    if (member !== undefined && INTERNAL.has(member)) found ??= node;
  });
  return (
    found && {
      why: 'it may read interval, current or previous of a MemoryStore, which the drop-in does not have',
      start: found.start,
    }
  );
}

/** What is different for a limiter once its import has changed, in a project that has this major version of the package. */
export function notesOnDropIn({ call }: Limiter, major: number = DROP_IN_MAJOR): readonly string[] {
  const options = optionsAt(call);
  const isGiven = (name: string): boolean => options?.has(name) === true;
  const limit = options?.get('limit') ?? options?.get('max');
  return [
    ...(options === undefined
      ? ['its options are not written here: what is different for them is in the README of @sluice/compat']
      : isGiven('store')
        ? ['its store stays as it is; ExpressStore of @sluice/compat/stores makes one of redisStore(...)']
        : notesOnMemory(limit)),
    ...(major < 7 && mayBeZero(limit)
      ? [`from ${String(major)} to ${String(DROP_IN_MAJOR)}: a limit of 0 denies every request, instead of none`]
      : []),
    ...(major < 8 && !isGiven('keyGenerator')
      ? [`from ${String(major)} to ${String(DROP_IN_MAJOR)}: IPv6 addresses of one /56 count together`]
      : []),
  ];
}

function notesOnMemory(limit: SyntaxNode | undefined): readonly string[] {
  return [
    'counts in the memory of each process, as before, now at most 100 000 keys; store: redisStore(...) holds over all processes',
    ...(limit !== undefined && (isFunction(limit) || limit.type === 'Identifier')
      ? ['limit, if it is a function, is called before the hit is counted, and not after it']
      : []),
  ];
}

/** Without a limit, 5 are allowed. */
function mayBeZero(limit: SyntaxNode | undefined): boolean {
  return limit !== undefined && (limit.type !== 'Literal' || literalOf(limit) === 0);
}
