import { nameOfKey } from '../project/members.ts';
import { isNode, nameOf, stringOf, type SyntaxNode } from '../project/source-file.ts';
import { argumentsOf, bare, isFunction, memberName, parametersOf } from '../project/values.ts';

const METHODS = new Set(['get', 'post', 'put', 'patch', 'delete', 'del', 'head', 'options', 'all', 'on']);
const HOOKS = new Set(['onRequest', 'preParsing', 'preValidation', 'preHandler', 'onSend', 'onResponse']);
const REQUESTS = new Set(['req', '_req', 'request', '_request']);
const RESPONSES = new Set(['res', '_res', 'response', '_response', 'reply', '_reply']);
const CONTEXTS = new Set(['c', 'ctx', 'context']);
const EXPORTS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'proxy', 'middleware']);
const DECORATORS = new Set(['Get', 'Post', 'Put', 'Patch', 'Delete', 'Head', 'Options', 'All']);

/** The nearest function above that is called for every request, as its form or its place shows; undefined for none. */
export function handlerIn(above: readonly SyntaxNode[]): SyntaxNode | undefined {
  return above.findLast((node, i) => isFunction(node) && isHandler(node, above.slice(0, i)));
}

function isHandler(node: SyntaxNode, above: readonly SyntaxNode[]): boolean {
  const [outer, parent] = above.slice(-2).length === 2 ? above.slice(-2) : [undefined, above.at(-1)];
  if (parent === undefined) return false;
  if (hasParametersOfHandler(node)) return true;
  if (parent.type === 'CallExpression') return takesHandlers(parent, node);
  if (parent.type === 'Property') return nameOfKey(parent) === 'fetch' || isRouteHandler(parent, outer);
  if (parent.type === 'MethodDefinition') return hasRouteDecorator(parent);
  return isExportedHandler(node, parent, above);
}

/** `(req, res)`, `(ctx, next)`. */
function hasParametersOfHandler(node: SyntaxNode): boolean {
  const [first, second] = parametersOf(node).map((parameter) => nameOf(parameter) ?? '');
  if (first === undefined || second === undefined) return false;
  return (REQUESTS.has(first) && RESPONSES.has(second)) || (CONTEXTS.has(first) && second === 'next');
}

/** `app.get('/', handler)`, `app.use(handler)`, `app.addHook('onRequest', hook)`, `limit.handle(handler)`. */
function takesHandlers(call: SyntaxNode, handler: SyntaxNode): boolean {
  const callee = bare(call['callee'] as SyntaxNode);
  if (callee === handler) return false;
  const method = callee.type === 'MemberExpression' ? memberName(callee) : undefined;
  const first = stringOf(argumentsOf(call)[0]);
  if (method === undefined) return false;
  if (METHODS.has(method)) return first?.startsWith('/') === true || first === '*';
  if (method === 'addHook') return first !== undefined && HOOKS.has(first);
  return method === 'handle' || (method === 'use' && parametersOf(handler).length > 0);
}

/** `app.route({ url, handler })`. */
function isRouteHandler(property: SyntaxNode, object: SyntaxNode | undefined): boolean {
  const names = ((object?.['properties'] ?? []) as readonly SyntaxNode[]).map(nameOfKey);
  return nameOfKey(property) === 'handler' && (names.includes('url') || names.includes('path'));
}

function hasRouteDecorator(method: SyntaxNode): boolean {
  return ((method['decorators'] ?? []) as readonly SyntaxNode[]).some(({ expression }) => {
    const call = expression as SyntaxNode;
    return call.type === 'CallExpression' && DECORATORS.has(nameOf(call['callee']) ?? '');
  });
}

/** `export function GET(request)`, `export const GET = (request) => ...`. */
function isExportedHandler(node: SyntaxNode, parent: SyntaxNode, above: readonly SyntaxNode[]): boolean {
  const id = parent.type === 'VariableDeclarator' ? parent['id'] : node['id'];
  const isExported = above.slice(-3).some(({ type }) => type === 'ExportNamedDeclaration');
  return isExported && isNode(id) && EXPORTS.has(nameOf(id) ?? '');
}
