import { nameOf, stringOf, type SyntaxNode } from '../project/source-file.ts';
import { isFunction, type Values } from '../project/values.ts';
import type { Findings } from './finding.ts';
import type { Use } from './uses.ts';

/** Limiters of one name on one store, which is an error when the second one is made. */
export function checkNames(findings: Findings, values: Values, uses: readonly Use[]): void {
  const seen: {
    readonly store: SyntaxNode | string;
    readonly around: SyntaxNode | undefined;
    readonly name: string;
  }[] = [];
  for (const use of uses) {
    const found = use.maker === 'rateLimit' || use.maker === 'createLimiter' ? claimOf(values, use) : undefined;
    if (found === undefined) continue;
    const isTaken = seen.some(
      ({ store, around, name }) => store === found.store && around === found.around && name === found.name,
    );
    seen.push(found);
    if (!isTaken) continue;
    findings.mistake(
      'name-taken',
      use.place,
      `another limiter on this store has the name ${found.name}, which is an error at the start`,
      `give each a name: { name: 'login', ... }; to share a budget on purpose, shared: true on both`,
    );
  }
}

/** The name that a limiter takes, where it is certain, and the function that both are made in. */
function claimOf(
  values: Values,
  { options, above, place }: Use,
): { readonly store: SyntaxNode | string; readonly around: SyntaxNode | undefined; readonly name: string } | undefined {
  const given = options?.of.get('store');
  if (options?.areAll !== true || given === undefined || options.of.has('shared')) return undefined;
  if (above.some(({ type }) => type === 'IfStatement' || type === 'ConditionalExpression')) return undefined;
  const name = options.of.get('name');
  const text = name === undefined ? 'default' : stringOf(values.valueOf(name).node);
  if (text === undefined) return undefined;
  const { node } = values.valueOf(given);
  // A call in the options makes a store of its own.
  const isName = given.node.type === 'Identifier';
  const store = isName && node.type === 'Identifier' ? `${place.file.path} ${nameOf(node) ?? ''}` : node;
  return isName ? { store, around: above.findLast(isFunction), name: text.toLowerCase() } : undefined;
}
