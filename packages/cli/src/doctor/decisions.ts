import { walk, type SourceFile, type SyntaxNode } from '../project/source-file.ts';
import { bare, memberName, type Place, type Values } from '../project/values.ts';
import type { Findings } from './finding.ts';
import { calledName } from './uses.ts';

const DECIDING = new Set(['consume', 'reserve', 'acquire']);

/** Decisions that no code reads, or that are read before they are there. */
export function checkDecisions(findings: Findings, values: Values, file: SourceFile): void {
  walk(file.program, (node, above) => {
    const method = decidingMethod(values, { file, node });
    if (method === undefined) return;
    const around = above.filter(({ type }) => !PASSED_ON.has(type));
    const isAwaited = above.at(-1)?.type === 'AwaitExpression';
    const parent = around.at(-1);
    if (parent?.type === 'ExpressionStatement') {
      tellIgnored(findings, { file, node }, method);
    } else if (!isAwaited && isReadAtOnce(node, parent)) {
      findings.mistake(
        'decision-not-awaited',
        { file, node },
        `${method}() returns a promise: what is read from it is undefined`,
        `(await limiter.${method}(key)).allowed`,
      );
    }
  });
}

const PASSED_ON = new Set([
  'AwaitExpression',
  'ParenthesizedExpression',
  'ChainExpression',
  'TSAsExpression',
  'UnaryExpression',
]);

function tellIgnored(findings: Findings, place: Place, method: string): void {
  const [text, instead] =
    method === 'consume'
      ? [
          'no code reads the decision, so that no request is ever denied: a denial is a value, and no error',
          'const { allowed, retryAfterMs } = await limiter.consume(key); to count without denying: limiter.charge(key, cost)',
        ]
      : [
          `no code reads what ${method}() returns, so that nothing is denied, and nothing ${method === 'acquire' ? 'releases the slot' : 'settles the cost'}`,
          method === 'acquire'
            ? 'limiter.run(key, job), or release() in a finally'
            : 'settle(actual) in a finally, or cancel()',
        ];
  findings.mistake('decision-ignored', place, text, instead);
}

/** The method of a limiter that a call calls, where the limiter is made in the project. */
function decidingMethod(values: Values, { file, node }: Place): string | undefined {
  if (node.type !== 'CallExpression') return undefined;
  const callee = bare(node['callee'] as SyntaxNode);
  const method = callee.type === 'MemberExpression' ? memberName(callee) : undefined;
  if (method === undefined || !DECIDING.has(method)) return undefined;
  const limiter = values.valueOf({ file, node: callee['object'] as SyntaxNode });
  return calledName(values, limiter) === 'createLimiter' ? method : undefined;
}

/** `limiter.consume(key).allowed`, `const { allowed } = limiter.consume(key)`. */
function isReadAtOnce(call: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  if (parent?.type === 'MemberExpression') {
    return (
      bare(parent['object'] as SyntaxNode) === call && !['then', 'catch', 'finally'].includes(memberName(parent) ?? '')
    );
  }
  return parent?.type === 'VariableDeclarator' && (parent['id'] as SyntaxNode).type === 'ObjectPattern';
}
