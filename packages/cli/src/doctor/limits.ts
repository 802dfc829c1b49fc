import { policyKinds } from '@sluice/simulate/terminal';
import { elementsOf, membersOf, type Members } from '../project/members.ts';
import type { SyntaxNode } from '../project/source-file.ts';
import { argumentsOf, bare, isFunction, returnedBy, type Place, type Values } from '../project/values.ts';
import { calledName, sluiceName, type Use } from './uses.ts';

/** The options that hold a limit: those of a limiter, and each entry of its `limits`. */
export function limitsOf(values: Values, { options }: Use): readonly Members[] {
  if (options === undefined) return [];
  const inner = options.of.get('limits');
  const entries = inner === undefined ? [] : (elementsOf(values, inner) ?? []);
  return [options, ...entries.flatMap((entry) => membersOf(values, entry) ?? [])];
}

/** The parts of a key: of a list, each one. */
export function partsOfKey(values: Values, { of }: Members): readonly Place[] {
  const key = of.get('key');
  if (key === undefined) return [];
  return (elementsOf(values, key) ?? [key]).map((part) => values.valueOf(part));
}

/** Whether any limit of a use counts by address: by `byIp()`, or by default. */
export function isByAddress(values: Values, use: Use): boolean {
  const { options, maker } = use;
  if (options?.areAll !== true || maker === 'createLimiter' || maker === 'store') return false;
  return limitsOf(values, use).some((limit) => {
    if (limit === options && options.of.has('limits')) return false;
    const parts = partsOfKey(values, limit);
    if (!limit.of.has('key')) return hasLimit(limit) && !options.of.has('limiter') && inheritsNoKey(use);
    return parts.some((part) => calledName(values, part) === 'byIp');
  });
}

function hasLimit({ of }: Members): boolean {
  return ['limit', 'policy'].some((name) => of.has(name));
}

/** An inner limit takes over the key of what is around it. */
function inheritsNoKey({ maker }: Use): boolean {
  return maker !== 'inner';
}

const POLICIES = new Set(policyKinds);

/** The options of a policy that is written; undefined where a place is none. */
export function policyOf(values: Values, place: Place): Members | undefined {
  const found = values.valueOf(place);
  const [options] = POLICIES.has(calledName(values, found) ?? '') ? argumentsOf(found.node) : [];
  return options === undefined ? undefined : membersOf(values, { file: found.file, node: options });
}

export function isPolicyFunction(values: Values, place: Place): boolean {
  return POLICIES.has(sluiceName(values, place) ?? '');
}

/** Policies that a function of the request returns, as far as they are written: also those of a table, `plans[...]`. */
export function returnedPolicies(values: Values, place: Place): readonly Place[] {
  const { file, node } = values.valueOf(place);
  if (!isFunction(node)) return [];
  return returnedBy(node).flatMap((returned) =>
    returned === undefined ? [] : alternatives(values, { file, node: returned }),
  );
}

function alternatives(values: Values, place: Place): readonly Place[] {
  const { file, node } = values.valueOf(place);
  const both = (first: string, second: string): readonly Place[] =>
    [first, second].flatMap((side) => alternatives(values, { file, node: bare(node[side] as SyntaxNode) }));
  if (node.type === 'ConditionalExpression') return both('consequent', 'alternate');
  if (node.type === 'LogicalExpression') return both('left', 'right');
  if (node.type !== 'MemberExpression') return [{ file, node }];
  const table = membersOf(values, { file, node: node['object'] as SyntaxNode });
  return [...(table?.of.values() ?? [])].map((value) => values.valueOf(value));
}
