import type { DeploymentFile } from '../project/deployment.ts';
import type { Project } from '../project/read-project.ts';
import type { SourceFile } from '../project/source-file.ts';
import { importsOf } from '../project/imports.ts';
import { Values } from '../project/values.ts';
import { checkDecisions } from './decisions.ts';
import { FindingList, type Finding } from './finding.ts';
import { checkKeys } from './keys.ts';
import { checkNames } from './names.ts';
import { checkMounted, checkOptions } from './options.ts';
import { checkPerRequest } from './per-request.ts';
import { checkProcesses } from './processes.ts';
import { checkProxies } from './proxies.ts';
import { signsOf } from './signs.ts';
import { usesOf, type Use } from './uses.ts';

export interface Diagnosis {
  /** Certain from the text. */
  readonly mistakes: readonly Finding[];
  /** What depends on what the text does not show. */
  readonly toCheck: readonly Finding[];
  /** What is not understood. */
  readonly notRead: readonly { readonly path: string; readonly why: string }[];
  readonly limiters: number;
}

/** Looks for limits of Sluice in a project that do not hold. Its tests are left out. */
export function diagnose(project: Project, deployment: readonly DeploymentFile[]): Diagnosis {
  const files = project.files.filter(({ path }) => !isTest(path));
  const values = new Values({ files });
  const hasFastify = files.some((file) => importsOf(file).some(({ module }) => module === '@sluice/fastify'));
  const uses = files.flatMap((file) => usesOf(values, file, hasFastify));
  const limiters = uses.filter(({ maker }) => maker !== 'store');
  const findings = new FindingList();
  if (uses.length > 0) {
    const settings = deployment.filter(({ path }) => !isTest(path));
    const signs = signsOf(values, files, settings, project.manifest);
    checkPerRequest(findings, uses);
    checkProxies(findings, values, files, limiters, signs);
    checkProcesses(findings, values, limiters, signs);
    checkKeys(findings, values, limiters);
    checkOptions(findings, values, limiters);
    checkNames(findings, values, limiters);
  }
  for (const file of files) checkFile(findings, values, file);
  return {
    mistakes: findings.mistakes,
    toCheck: findings.checks,
    notRead: [...project.unread, ...limiters.flatMap(unwritten)],
    limiters: limiters.length,
  };
}

function checkFile(findings: FindingList, values: Values, file: SourceFile): void {
  checkMounted(findings, values, file);
  checkDecisions(findings, values, file);
}

/** A limiter whose options come from where the text does not show them. */
function unwritten({ maker, options, place }: Use): readonly { readonly path: string; readonly why: string }[] {
  const hasArguments = ((place.node['arguments'] ?? []) as readonly unknown[]).length > 0;
  if (options !== undefined || maker === 'inner' || !hasArguments) return [];
  const line = place.file.text.slice(0, place.node.start).split('\n').length;
  return [
    {
      path: `${place.file.path}:${String(line)}`,
      why: 'the options of this limiter are not written where they can be read',
    },
  ];
}

const TESTS = new Set(['test', 'tests', '__tests__', '__mocks__', 'spec', 'e2e', 'fixtures']);

function isTest(path: string): boolean {
  const parts = path.split('/');
  const name = parts.at(-1) ?? '';
  return parts.slice(0, -1).some((part) => TESTS.has(part)) || name.includes('.test.') || name.includes('.spec.');
}
