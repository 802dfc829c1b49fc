import { membersOf, nameOfKey, type Members } from '../project/members.ts';
import { isNode, nameOf, walk, type SourceFile, type SyntaxNode } from '../project/source-file.ts';
import { argumentsOf, bare, memberName, type Place, type Values } from '../project/values.ts';

/** How a limiter is made, which says what it inherits. */
export type Maker =
  | 'rateLimit'
  | 'createLimiter'
  /** `app.register(sluice, options)` of Fastify. */
  | 'plugin'
  /** `RateLimitModule.forRoot(options)` of NestJS. */
  | 'module'
  /** `app.rateLimit(options)`, `config: { rateLimit: options }`, `@RateLimit(options)`: have the store of what is around them. */
  | 'inner';

/** A place that makes a limiter or a store of Sluice. */
export interface Use {
  readonly maker: Maker | 'store';
  /** The package of the function, such as `@sluice/express`. */
  readonly module: string;
  readonly place: Place;
  /** The nodes above the call: the nearest one last. */
  readonly above: readonly SyntaxNode[];
  /** Undefined where the options are not written in the project. */
  readonly options: Members | undefined;
}

export const STORES: ReadonlySet<string> = new Set(['memoryStore', 'redisStore', 'splitStore', 'remoteStore']);
const SLUICE = '@sluice/';

/** Whether an export is one of Sluice's packages. */
export function isSluice(values: Values, place: Place): boolean {
  return values.exportOf(place)?.module.startsWith(SLUICE) === true;
}

/** The name of an export of Sluice that a place stands for. */
export function sluiceName(values: Values, place: Place): string | undefined {
  const found = values.exportOf(place);
  return found?.module.startsWith(SLUICE) === true ? found.name : undefined;
}

/** The name of the function of Sluice that a call calls: `fixedWindow`, and `Store.name` for members of a class. */
export function calledName(values: Values, { file, node }: Place): string | undefined {
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return undefined;
  return sluiceName(values, { file, node: bare(node['callee'] as SyntaxNode) });
}

/** All limiters and stores that a file makes. */
export function usesOf(values: Values, file: SourceFile, hasFastify: boolean): readonly Use[] {
  const uses: Use[] = [];
  walk(file.program, (node, above) => {
    const found = useAt(values, { file, node }, hasFastify);
    if (found !== undefined) uses.push({ ...found, above });
  });
  return uses;
}

function useAt(values: Values, place: Place, hasFastify: boolean): Omit<Use, 'above'> | undefined {
  const { file, node } = place;
  if (node.type === 'Property') return routeUse(values, place, hasFastify);
  if (node.type !== 'CallExpression') return undefined;
  const callee = bare(node['callee'] as SyntaxNode);
  const [first, second] = argumentsOf(node);
  const made = (maker: Use['maker'], module: string, options: SyntaxNode | undefined): Omit<Use, 'above'> => ({
    ...{ maker, module, place },
    options: options === undefined ? undefined : membersOf(values, { file, node: options }),
  });
  const direct = values.exportOf({ file, node: callee });
  if (direct?.module.startsWith(SLUICE) === true) {
    const { name, module } = direct;
    if (name === 'rateLimit' || name === 'createLimiter') return made(name, module, first);
    if (name === 'RateLimit') return made('inner', module, first);
    return STORES.has(name) ? made('store', module, name === 'redisStore' ? second : first) : undefined;
  }
  if (callee.type !== 'MemberExpression') return undefined;
  return memberUse(values, { file, node: callee }, first, second, hasFastify, made);
}

/** `RateLimitModule.forRoot()`, `app.register(sluice)`, `app.rateLimit()`. */
function memberUse(
  values: Values,
  { file, node: callee }: Place,
  first: SyntaxNode | undefined,
  second: SyntaxNode | undefined,
  hasFastify: boolean,
  made: (maker: Maker, module: string, options: SyntaxNode | undefined) => Omit<Use, 'above'>,
): Omit<Use, 'above'> | undefined {
  const method = memberName(callee);
  if (
    method === 'forRoot' &&
    sluiceName(values, { file, node: callee['object'] as SyntaxNode }) === 'RateLimitModule'
  ) {
    return made('module', '@sluice/nestjs', first);
  }
  if (method === 'register' && first !== undefined) {
    const plugin = values.exportOf({ file, node: first });
    return plugin?.module === '@sluice/fastify' ? made('plugin', plugin.module, second) : undefined;
  }
  return method === 'rateLimit' && hasFastify ? made('inner', '@sluice/fastify', first) : undefined;
}

/** `config: { rateLimit: { ... } }` of a route of Fastify. */
function routeUse(values: Values, { file, node }: Place, hasFastify: boolean): Omit<Use, 'above'> | undefined {
  const value = isNode(node['value']) ? bare(node['value']) : undefined;
  if (!hasFastify || nameOfKey(node) !== 'config' || value?.type !== 'ObjectExpression') return undefined;
  const inner = membersOf(values, { file, node: value })?.of.get('rateLimit');
  const options = inner === undefined ? undefined : membersOf(values, inner);
  return options === undefined
    ? undefined
    : { maker: 'inner', module: '@sluice/fastify', place: options.place, options };
}

/** The name of the variable that a place is the value of. */
export function variableOf({ above }: Use): string | undefined {
  const parent = above.findLast(({ type }) => type !== 'AwaitExpression' && type !== 'ParenthesizedExpression');
  return parent?.type === 'VariableDeclarator' ? nameOf(parent['id']) : undefined;
}
