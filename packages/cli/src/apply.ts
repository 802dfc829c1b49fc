import { PolicyError } from '@sluice/core';
import type { ManagedPolicy, Policies } from '@sluice/managed';
import { writtenPolicy } from '@sluice/core/inspect';
import { UsageError, table } from '@sluice/simulate/terminal';
import { readPoliciesFile, type PolicyDefinition } from './policies-file.ts';
import type { Session } from './session.ts';

/** The options of `sluice policy apply`. */
export interface ApplyOptions {
  readonly file: string;
  readonly dryRun?: boolean;
  readonly prune?: boolean;
}

type Change = 'created' | 'changed' | 'unchanged' | 'removed';

interface Applied extends Pick<ManagedPolicy, 'name' | 'policy' | 'apps'> {
  readonly change: Change;
  /** Missing in a dry run, which writes nothing. */
  readonly version: number | null;
}

type WithPolicies = (work: (policies: Policies, session: Session) => Promise<void>) => Promise<void>;

/**
 * Puts the policies that a file defines. Checks all of them before it changes any. When one fails, it still prints the
 * changes made so far.
 */
export async function applyFile(
  { file, dryRun = false, prune = false }: ApplyOptions,
  run: WithPolicies,
): Promise<void> {
  const definitions = readPoliciesFile(file);
  await run(async (policies, session) => {
    const planned = await plan(policies, definitions, prune);
    if (dryRun) {
      show(session, planned, 'would be ');
      return;
    }
    const done: Applied[] = [];
    try {
      for (const definition of definitions) done.push(await put(policies, definition, false));
      for (const doomed of planned.filter(({ change }) => change === 'removed')) {
        if (await policies.remove(doomed.name)) done.push(doomed);
      }
    } catch (error) {
      if (done.length > 0) show(session, done);
      throw error;
    }
    show(session, done);
  });
}

/** The changes that applying would make. */
async function plan(
  policies: Policies,
  definitions: readonly PolicyDefinition[],
  prune: boolean,
): Promise<readonly Applied[]> {
  const planned: Applied[] = [];
  const problems: string[] = [];
  for (const definition of definitions) {
    try {
      planned.push(await put(policies, definition, true));
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      problems.push(`${definition.at}: ${error.message}`);
    }
  }
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  if (!prune) return planned;
  const named = new Set(definitions.map(({ name }) => name));
  const others = (await policies.list()).filter(({ name }) => !named.has(name));
  return [
    ...planned,
    ...others.map(({ name, version, policy, apps }): Applied => ({ name, change: 'removed', version, policy, apps })),
  ];
}

async function put(
  policies: Policies,
  { name, policy, apps, carryOver }: PolicyDefinition,
  dryRun: boolean,
): Promise<Applied> {
  const { change, version, ...done } = await policies.put(name, policy, { apps, carryOver, dryRun });
  return {
    name,
    change,
    version: dryRun && change !== 'unchanged' ? null : version,
    policy: done.policy,
    apps: done.apps,
  };
}

const CHANGES: readonly Change[] = ['created', 'changed', 'unchanged', 'removed'];

function show({ print }: Session, rows: readonly Applied[], would = ''): void {
  print(rows, () => {
    const counts = CHANGES.map((change) => [change, rows.filter((row) => row.change === change).length] as const);
    const summary = counts.flatMap(([change, count]) => (count === 0 ? [] : [`${String(count)} ${would}${change}`]));
    return [
      ...(rows.length === 0
        ? []
        : [
            table(
              ['NAME', 'CHANGE', 'POLICY', 'APPS'],
              rows.map(({ name, change, policy, apps }) => [name, change, writtenPolicy(policy), apps.join(', ')]),
            ),
          ]),
      summary.length === 0 ? 'nothing to do' : summary.join(', '),
    ].join('\n');
  });
}
