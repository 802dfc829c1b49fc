import { nameOf, walk, type SourceFile, type SyntaxNode } from '../project/source-file.ts';
import { namedElsewhere, type FileChange } from './drop-in.ts';
import type { Edit } from './edits.ts';
import type { Uses } from './limiters.ts';
import { isFunction, literalOf, optionsAt } from './options.ts';

export const OWN = '@sluice/express';

type Options = ReadonlyMap<string, SyntaxNode>;

/** The options that are understood. A file with any other is left. */
const UNDERSTOOD = new Set([
  ...['windowMs', 'limit', 'max', 'statusCode', 'legacyHeaders', 'headers', 'standardHeaders', 'skip', 'keyGenerator'],
  ...['skipFailedRequests', 'skipSuccessfulRequests'],
]);
const FIELDS: Readonly<Record<string, string>> = {
  true: "'draft-6'",
  'draft-6': "'draft-6'",
  'draft-7': "'draft-7'",
  'draft-8': "'draft-11'",
};

/** The same limits in the options of Sluice's own adapter: the import, and each call. */
export function toOwnOptions(file: SourceFile, { imports, limiters, makers }: Uses): FileChange {
  const other = namedElsewhere(file, imports);
  if (other !== undefined) return other;
  const [first, ...more] = imports;
  if (first === undefined || more.length > 0)
    return left('it imports the package more than once', first?.literal.start ?? 0);
  const [[local, name] = ['', '']] = first.names;
  const isFunctionAlone = first.names.size === 1 && first.statement !== undefined && makers.has(local);
  const isWhole = name === '*' && first.form !== 'require';
  if (!isFunctionAlone || isWhole || first.form === 'reexport') {
    return left('it imports more than the function rateLimit', first.literal.start);
  }
  const stray = strayUse(
    file,
    local,
    limiters.map(({ call }) => call),
    first.statement,
  );
  if (stray !== undefined) return left(`it hands ${local} on, and does not only call it`, stray.start);
  const edits: Edit[] = [];
  for (const { call } of limiters) {
    const written = ownCall(file, call);
    if (written.why !== undefined) return left(written.why, call.start);
    const [given] = call['arguments'] as readonly SyntaxNode[];
    const [start, end] = given === undefined ? [call.end - 1, call.end - 1] : [given.start, given.end];
    edits.push({ start, end, text: written.text });
  }
  const statement = first.statement;
  return {
    edits: [...edits, { start: statement.start, end: statement.end, text: imported(file, statement, local, edits) }],
  };
}

function left(why: string, start: number): FileChange {
  return { why, start };
}

/** A use of the function that is neither its import nor a call of it. */
function strayUse(
  { program }: SourceFile,
  local: string,
  calls: readonly SyntaxNode[],
  statement: SyntaxNode,
): SyntaxNode | undefined {
  let found: SyntaxNode | undefined;
  walk(program, (node, above) => {
    if (nameOf(node) !== local || above.includes(statement)) return;
    const parent = above.at(-1);
    const isKey = parent?.['key'] === node && parent['shorthand'] !== true;
    const isMember = parent?.type === 'MemberExpression' && parent['property'] === node && parent['computed'] !== true;
    if (isKey || isMember || calls.some((call) => call['callee'] === node)) return;
    found ??= node;
  });
  return found;
}

function imported({ text }: SourceFile, statement: SyntaxNode, local: string, edits: readonly Edit[]): string {
  const names = ['byIp', 'fixedWindow'].filter((name) => edits.some((edit) => edit.text.includes(`${name}(`)));
  const quote = text.slice(statement.start, statement.end).includes('"') ? '"' : "'";
  const end = text[statement.end - 1] === ';' ? ';' : '';
  if (statement.type === 'ImportDeclaration') {
    const function_ = local === 'rateLimit' ? local : `rateLimit as ${local}`;
    return `import { ${[...names, function_].join(', ')} } from ${quote}${OWN}${quote}${end}`;
  }
  const function_ = local === 'rateLimit' ? local : `rateLimit: ${local}`;
  return `${String(statement['kind'])} { ${[...names, function_].join(', ')} } = require(${quote}${OWN}${quote})${end}`;
}

function ownCall(
  file: SourceFile,
  call: SyntaxNode,
): { readonly text: string; readonly why?: undefined } | { readonly why: string } {
  const options = optionsAt(call);
  if (options === undefined) return { why: 'the options of a limiter are not written at its call' };
  const unknown = [...options.keys()].find((name) => !UNDERSTOOD.has(name));
  if (unknown !== undefined) return { why: `the option ${unknown} has no counterpart that is known to do the same` };
  const limit = options.get('limit') ?? options.get('max');
  if (isFunction(limit))
    return { why: 'limit is a function: write policy as a function that returns fixedWindow(...)' };
  const headers = headersOf(options);
  const refund = refundOf(options);
  if (headers === undefined || refund === undefined)
    return { why: 'an option that must be true or false here is an expression' };
  const source = (node: SyntaxNode | undefined, otherwise: string): string =>
    node === undefined ? otherwise : file.text.slice(node.start, node.end);
  const policy = `fixedWindow({ limit: ${source(limit, '5')}, window: ${source(options.get('windowMs'), '60_000')} })`;
  const lines = [
    `policy: ${policy}`,
    `key: ${source(options.get('keyGenerator'), 'byIp({ ipv6Prefix: 56 })')}`,
    `headers: ${headers}`,
    ...(options.has('statusCode') ? [`status: { denied: ${source(options.get('statusCode'), '')} }`] : []),
    ...(options.has('skip') ? [`skip: ${source(options.get('skip'), '')}`] : []),
    ...(refund === '' ? [] : [`refund: '${refund}'`]),
  ];
  const indent = /^[ \t]*/.exec(file.text.slice(file.text.lastIndexOf('\n', call.start) + 1))?.[0] ?? '';
  return { text: `{\n${lines.map((line) => `${indent}  ${line},\n`).join('')}${indent}}` };
}

/** Undefined where an expression decides. */
function headersOf(options: Options): string | undefined {
  const legacy = options.get('legacyHeaders') ?? options.get('headers');
  const standard = options.get('standardHeaders');
  const isLegacy = legacy === undefined ? true : literalOf(legacy);
  const version = standard === undefined ? false : literalOf(standard);
  const field = version === false ? undefined : FIELDS[String(version)];
  if (typeof isLegacy !== 'boolean' || (version !== false && field === undefined)) return undefined;
  const fields = [...(isLegacy ? ["{ legacy: 'epoch' }"] : []), ...(field === undefined ? [] : [field])];
  return fields.length === 0 ? 'false' : fields.length === 1 ? fields[0] : `[${fields.join(', ')}]`;
}

function refundOf(options: Options): string | undefined {
  const [failed, successful] = ['skipFailedRequests', 'skipSuccessfulRequests'].map((name) =>
    options.has(name) ? literalOf(options.get(name)) : false,
  );
  if (typeof failed !== 'boolean' || typeof successful !== 'boolean' || (failed && successful)) return undefined;
  return failed ? 'on-failure' : successful ? 'on-success' : '';
}

/** What is different for each limiter that is written in Sluice's own options. */
export const NOTES_ON_OWN: readonly string[] = [
  'a denied request no longer counts towards the limit',
  'a denial answers with application/problem+json; onDenied writes another answer',
  'request.rateLimit holds { key, decision }, and not { limit, used, remaining, resetTime }',
  "fields of 'draft-8' become those of 'draft-11'; Retry-After is sent with every denial",
  'a keyGenerator that returns undefined denies the request (onMissingKey), and does not count it as one client',
];
