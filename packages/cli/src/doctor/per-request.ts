import { isNode, nameOf, walk, type SyntaxNode } from '../project/source-file.ts';
import { bare, isFunction, memberName } from '../project/values.ts';
import type { Findings } from './finding.ts';
import { handlerIn } from './handlers.ts';
import { variableOf, type Use } from './uses.ts';

/** Limiters and stores that are made again for every request. */
export function checkPerRequest(findings: Findings, uses: readonly Use[]): void {
  for (const use of uses) {
    if (use.place.node.type !== 'CallExpression' || isDecorator(use.above)) continue;
    const where = handlerIn(use.above) ?? callerOf(use);
    if (where === undefined) continue;
    const isStore = use.maker === 'store';
    const rule = isStore ? 'store-per-request' : 'limiter-per-request';
    const what = isStore ? 'a store' : 'a limiter';
    if (isKept(use, where)) {
      findings.toCheck(
        rule,
        use.place,
        `a request makes ${what}, which is kept for later ones`,
        'bound how many are kept, or give one limiter a function: policy: (request) => plans[...], made once',
      );
    } else {
      findings.mistake(
        rule,
        use.place,
        isStore
          ? 'every request makes a store, which holds no earlier counts or opens one more connection'
          : 'every request makes a limiter of its own, so that no request is ever denied',
        `make it once, outside the handler${isStore ? '' : '; if the numbers depend on the request, pass a function: policy: (request) => plans[...]'}`,
      );
    }
  }
}

function isDecorator(above: readonly SyntaxNode[]): boolean {
  return above.at(-1)?.type === 'Decorator';
}

/** The handler that calls the function which a use is in: `const limitOf = (request) => rateLimit({ ... })`. */
function callerOf({ above, place }: Use): SyntaxNode | undefined {
  const at = above.findLastIndex(isFunction);
  const [made, parent] = [above[at], above[at - 1]];
  const name = nameOf(parent?.type === 'VariableDeclarator' ? parent['id'] : made?.['id']);
  if (made === undefined || name === undefined) return undefined;
  let caller: SyntaxNode | undefined;
  walk(place.file.program, (node, around) => {
    if (node.type === 'CallExpression' && nameOf(node['callee']) === name) caller ??= handlerIn(around);
  });
  return caller === undefined ? undefined : made;
}

/** Whether what is made is put where it outlives the request: into a map, a member, or a name outside of the handler. */
function isKept(use: Use, handler: SyntaxNode): boolean {
  const name = variableOf(use);
  const { node } = use.place;
  const isMade = (value: unknown): boolean =>
    isNode(value) && (holds(value, node) || (name !== undefined && nameOf(bare(value)) === name));
  let kept = false;
  walk(handler, (inner) => {
    if (inner.type === 'AssignmentExpression') kept ||= isMade(inner['right']);
    if (inner.type !== 'CallExpression' || inner === node) return;
    const callee = bare(inner['callee'] as SyntaxNode);
    const isSet = callee.type === 'MemberExpression' && memberName(callee) === 'set';
    kept ||= isSet && (inner['arguments'] as readonly unknown[]).some(isMade);
  });
  return kept;
}

/** Whether a value is this node, or wraps it: not a call of it. */
function holds(value: SyntaxNode, node: SyntaxNode): boolean {
  const own = bare(value);
  return own === node || (own.type === 'LogicalExpression' && holds(own['right'] as SyntaxNode, node));
}
