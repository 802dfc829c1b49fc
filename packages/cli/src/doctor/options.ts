import { elementsOf, type Members } from '../project/members.ts';
import { walk, type SourceFile, type SyntaxNode } from '../project/source-file.ts';
import { argumentsOf, bare, memberName, numberOf, type Place, type Values } from '../project/values.ts';
import type { Findings } from './finding.ts';
import { isPolicyFunction, limitsOf, policyOf, returnedPolicies } from './limits.ts';
import { STORES, sluiceName, type Use } from './uses.ts';

/** Functions of Sluice that options take the result of. */
const CALLED: Readonly<Record<string, ReadonlySet<string>>> = {
  key: new Set(['byIp', 'byUser', 'byHeader', 'byRoute', 'byMethod', 'byAll']),
  store: STORES,
  address: new Set(['fromBun', 'fromProxy']),
  escalate: new Set(['escalate']),
};
const LENGTHS = ['window', 'every', 'ttl'];

/** Options whose values are wrong in a way that is seen without running the application. */
export function checkOptions(findings: Findings, values: Values, uses: readonly Use[]): void {
  for (const use of uses) {
    for (const limit of limitsOf(values, use)) {
      checkCalled(findings, values, limit);
      checkPolicy(findings, values, limit.of.get('policy'));
      checkUnits(findings, limit);
    }
  }
}

function checkCalled(findings: Findings, values: Values, { of }: Members): void {
  for (const [name, value] of of) {
    for (const one of elementsOf(values, value) ?? [value]) {
      const given = sluiceName(values, one);
      const isWrong = name === 'policy' ? isPolicyFunction(values, one) : CALLED[name]?.has(given ?? '') === true;
      if (isWrong && given !== undefined) tellNotCalled(findings, one, name, given);
    }
  }
}

function tellNotCalled(findings: Findings, place: Place, option: string, given: string): void {
  findings.mistake(
    'not-called',
    place,
    `${option} is the function ${given} itself, and not what it returns`,
    `${option}: ${given}(${option === 'key' || option === 'address' ? '' : '...'})`,
  );
}

function checkPolicy(findings: Findings, values: Values, policy: Place | undefined): void {
  if (policy === undefined) return;
  for (const one of elementsOf(values, policy) ?? [policy]) {
    const written = policyOf(values, one);
    if (written !== undefined) checkUnits(findings, written);
  }
  for (const returned of returnedPolicies(values, policy)) {
    const written = policyOf(values, returned);
    if (written === undefined) continue;
    checkUnits(findings, written);
    if (!written.areAll || written.of.has('name')) continue;
    findings.mistake(
      'policy-unnamed',
      returned,
      'a policy that a function returns has no name, which is an error at the first request',
      "name it: fixedWindow({ name: 'free', ... }); plans of different names never share what is used",
    );
  }
}

/** As core warns: below a second, or minutes, hours and days in seconds. */
function checkUnits(findings: Findings, { of }: Members): void {
  for (const name of LENGTHS) {
    const value = of.get(name);
    const ms = value === undefined ? undefined : numberOf(value.node);
    if (value === undefined || ms === undefined || !(ms < 1000 || (ms % 60 === 0 && ms % 500 !== 0))) continue;
    findings.mistake(
      'unit-missing',
      value,
      `${name}: ${String(ms)} is ${String(ms)} milliseconds`,
      `${name}: '${String(ms)}s' for seconds, '${String(ms)}ms' for milliseconds`,
    );
  }
}

/** `app.use(rateLimit)`: the function that makes a middleware stands where a middleware does. */
export function checkMounted(findings: Findings, values: Values, file: SourceFile): void {
  walk(file.program, (node: SyntaxNode) => {
    if (node.type !== 'CallExpression') return;
    const callee = bare(node['callee'] as SyntaxNode);
    if (
      callee.type !== 'MemberExpression' ||
      !['use', 'get', 'post', 'put', 'patch', 'delete', 'all'].includes(memberName(callee) ?? '')
    )
      return;
    for (const argument of argumentsOf(node)) {
      const place = { file, node: argument };
      if (sluiceName(values, place) !== 'rateLimit') continue;
      findings.mistake(
        'not-called',
        place,
        'rateLimit itself is no middleware: it makes one',
        "rateLimit({ limit: 100, window: '1m' })",
      );
    }
  });
}
