import { nameOf, stringOf, walk, type SyntaxNode } from '../project/source-file.ts';
import {
  argumentsOf,
  bare,
  isFunction,
  memberName,
  parametersOf,
  returnedBy,
  type Place,
  type Values,
} from '../project/values.ts';
import type { Findings } from './finding.ts';
import { limitsOf, partsOfKey } from './limits.ts';
import { calledName, type Use } from './uses.ts';

/** Fields that a client writes as it likes, also where the application has a proxy. */
const CHOSEN = new Set([
  'x-forwarded-for',
  'forwarded',
  'x-client-ip',
  'x-cluster-client-ip',
  'user-agent',
  'referer',
  'origin',
  'cookie',
  'accept-language',
  'x-request-id',
  'x-correlation-id',
]);
/** Fields that a proxy may set: a client writes them where nothing overwrites them. */
const SET_BY_PROXIES = new Set([
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
  'fly-client-ip',
  'x-vercel-forwarded-for',
]);
/** Members of requests that hold what the client has sent. */
const SENT = new Set(['body', 'query', 'cookies']);
/** Members that hold parts of the path, which may be checked before. */
const PATH = new Set(['params']);
const ADDRESSES = new Set(['ip', 'remoteAddress']);

/** Keys that a client escapes, or that are missing. */
export function checkKeys(findings: Findings, values: Values, uses: readonly Use[]): void {
  for (const use of uses) {
    for (const limit of limitsOf(values, use)) {
      for (const part of partsOfKey(values, limit)) {
        const handles = limit.of.has('onMissingKey');
        if (isFunction(part.node)) checkFunction(findings, part, handles);
        else if (calledName(values, part) === 'byHeader')
          checkField(findings, part, stringOf(argumentsOf(part.node)[0]));
        else if (calledName(values, part) === 'byUser') checkPicked(findings, part);
      }
    }
  }
}

/** `byUser((request) => ...)` picks as a key does, and may find no user. */
function checkPicked(findings: Findings, { file, node }: Place): void {
  const [pick] = argumentsOf(node);
  if (pick !== undefined && isFunction(pick)) checkFunction(findings, { file, node: pick }, true);
}

function checkField(findings: Findings, place: Place, given: string | undefined): void {
  const field = given?.toLowerCase() ?? '';
  if (CHOSEN.has(field)) {
    findings.mistake(
      'key-chosen-by-client',
      place,
      `the client writes ${field}, so that each request may choose a budget of its own`,
      'byIp(), with the proxies that the framework trusts; or byUser(), behind the authentication',
    );
  } else if (SET_BY_PROXIES.has(field)) {
    findings.toCheck(
      'key-chosen-by-client',
      place,
      `a client writes ${field} wherever a request does not come through the proxy that overwrites it`,
      'let only the proxy reach the application, or use byIp() with the proxies that the framework trusts',
    );
  }
}

function checkFunction(findings: Findings, place: Place, handlesMissing: boolean): void {
  const { file, node } = place;
  for (const field of fieldsIn(node)) checkField(findings, place, field);
  const returned = returnedBy(node);
  const given = returned.filter((value) => value !== undefined);
  if (given.length === 0 && !handlesMissing && !throws(node)) {
    findings.mistake(
      'key-missing',
      place,
      'the function returns nothing, so that every request gets 403',
      'return the key: (request) => request.user.id',
    );
  } else if (!handlesMissing && returned.some(isMissing)) {
    findings.toCheck(
      'key-missing',
      place,
      'the function may return no key: such a request gets 403',
      "say it: onMissingKey: 'deny', 'skip' or 'shared'",
    );
  }
  for (const value of given) checkReturned(findings, { file, node: value }, node);
}

function checkReturned(findings: Findings, place: Place, around: SyntaxNode): void {
  const pieces = piecesOf(place.node);
  if (pieces.some((piece) => isOf(SENT, piece, around))) {
    findings.mistake(
      'key-unchecked',
      place,
      'the key is text of the client as it comes: every spelling of it has a budget of its own, and what is no string is an error',
      "check and unify it: typeof text === 'string' ? text.trim().toLowerCase() : ''; and limit by address beside it",
    );
  }
  if (pieces.some((piece) => isOf(PATH, piece, around))) {
    findings.toCheck(
      'key-unchecked',
      place,
      'the key is a part of the path, which a client may vary without end where it is not looked up first',
      'check it before the limiter, and limit by address beside it',
    );
  }
  if (pieces.some(isAddress)) {
    findings.mistake(
      'key-raw-address',
      place,
      'a client with IPv6 has 2^64 addresses, and each one has a budget of its own',
      'byIp(), which counts the network of an IPv6 address',
    );
  }
}

/** The values that a key is put together from, without any change: of a template, a fallback, a concatenation. */
function piecesOf(node: SyntaxNode): readonly SyntaxNode[] {
  const own = bare(node);
  const sides = (...names: readonly string[]): readonly SyntaxNode[] =>
    names.flatMap((name) => piecesOf(own[name] as SyntaxNode));
  if (own.type === 'TemplateLiteral') return (own['expressions'] as readonly SyntaxNode[]).flatMap(piecesOf);
  if (own.type === 'LogicalExpression' || own.type === 'BinaryExpression') return sides('left', 'right');
  if (own.type === 'ConditionalExpression') return sides('consequent', 'alternate');
  return [own];
}

/** The names of a chain of members, the first one first: `request.body.email`. */
function chainOf(node: SyntaxNode): readonly string[] {
  const own = bare(node);
  const name = nameOf(own);
  if (name !== undefined) return [name];
  if (own.type !== 'MemberExpression') return [];
  const [before, member] = [chainOf(own['object'] as SyntaxNode), memberName(own)];
  return before.length === 0 || member === undefined ? [] : [...before, member];
}

/** `request.body.email`, and `body.email` where the parameter is `{ body }`. */
function isOf(members: ReadonlySet<string>, node: SyntaxNode, around: SyntaxNode): boolean {
  const chain = chainOf(node);
  const at = chain.findIndex((name) => members.has(name));
  if (at === -1 || at === chain.length - 1) return false;
  return at > 0 || parametersOf(around).some((parameter) => destructures(parameter, chain[0]));
}

function isAddress(node: SyntaxNode): boolean {
  const chain = chainOf(node);
  return chain.length > 1 && ADDRESSES.has(chain.at(-1) ?? '');
}

function destructures(parameter: SyntaxNode, name: string | undefined): boolean {
  if (parameter.type !== 'ObjectPattern') return false;
  return (parameter['properties'] as readonly SyntaxNode[]).some(({ key }) => nameOf(key) === name);
}

/** The fields of a request that a function reads: `headers['x-real-ip']`, `get('x-real-ip')`. */
export function fieldsIn(node: SyntaxNode): readonly string[] {
  const fields: string[] = [];
  walk(node, (inner) => {
    const field = fieldRead(inner);
    if (field !== undefined) fields.push(field);
  });
  return fields;
}

function fieldRead(node: SyntaxNode): string | undefined {
  if (node.type === 'MemberExpression' && node['computed'] === true) {
    return chainOf(node['object'] as SyntaxNode).at(-1) === 'headers' ? stringOf(node['property']) : undefined;
  }
  if (node.type !== 'CallExpression') return undefined;
  const callee = bare(node['callee'] as SyntaxNode);
  const method = callee.type === 'MemberExpression' ? memberName(callee) : undefined;
  return method === 'get' || method === 'header' ? stringOf(argumentsOf(node)[0]) : undefined;
}

function isMissing(value: SyntaxNode | undefined): boolean {
  if (value === undefined) return true;
  const isEmpty = value.type === 'Literal' && (value['value'] === null || value['value'] === '');
  return isEmpty || nameOf(value) === 'undefined';
}

function throws(node: SyntaxNode): boolean {
  const thrown: SyntaxNode[] = [];
  walk(node, (inner) => {
    if (inner.type === 'ThrowStatement') thrown.push(inner);
  });
  return thrown.length > 0;
}
