import { Option, type Command } from 'commander';
import { type CarryOver } from '@sluice/old-core';
import type { ManagedPolicy, Policies } from '@sluice/old-managed';
import { writtenPolicy } from '@sluice/old-core/inspect';
import { collect } from './collect.ts';
import { addOverride } from './override-commands.ts';
import {
  Failure,
  UsageError,
  policyKinds,
  addPolicyOptions,
  policyFrom,
  printable,
  table,
} from '@sluice/simulate/terminal';
import { withPolicies, type Work } from './with-policies.ts';
import type { Session } from './session.ts';
import { writtenInstant } from './written.ts';

const CARRY_OVER: readonly CarryOver[] = ['keep', 'reset'];

/** Adds `sluice policy list | get | put | remove | override`. */
export function addPolicy(sluice: Command): void {
  const policy = sluice
    .command('policy')
    .summary('list and change managed policies')
    .description('Lists and changes managed policies: those that applications use by their name, managed("orders").');

  policy
    .command('list')
    .summary('print all managed policies')
    .description('Prints all managed policies, the applications that may use them, and when they were changed.')
    .action((_options: unknown, command: Command) => withPolicies(command, list));

  policy
    .command('get')
    .summary('print one managed policy')
    .description(
      'Prints one managed policy, the applications that may use it, and when it was changed. Fails when there is none.',
    )
    .argument('<name>')
    .action((name: string, _options: unknown, command: Command) =>
      withPolicies(command, (policies, session) => get(policies, session, name)),
    );

  addPolicyOptions(
    policy
      .command('put')
      .summary('define a managed policy, or change it')
      .description(
        'Defines a managed policy, or changes it, for every application that uses it, within a second. Repeating it changes nothing.',
      )
      .argument('<name>')
      .argument('<kind>', policyKinds.join(', ')),
  )
    .addOption(
      new Option('--app <name>', 'an application that may use it, beside those that do; may be repeated').argParser(
        collect,
      ),
    )
    .addOption(
      new Option('--remove-app <name>', 'an application that may no longer use it; may be repeated').argParser(collect),
    )
    .addOption(
      new Option('--carry-over <how>', 'how units used so far carry over to the changed policy').choices(CARRY_OVER),
    )
    .option('--dry-run', 'print what would change, and change nothing')
    .addHelpText('after', '\nExample: sluice policy put orders fixedWindow --limit 200 --window 1m --app checkout')
    .action((name: string, kind: string, options: PutOptions & Readonly<Record<string, unknown>>, command: Command) => {
      const defined = policyFrom(kind, options);
      const work: Work = (policies, session) => put(policies, session, name, defined, options);
      return withPolicies(command, work, { writes: options.dryRun !== true });
    });

  policy
    .command('remove')
    .summary('remove a managed policy')
    .description('Removes a managed policy, within a second. Limiters that use it are then unconfigured.')
    .argument('<name>')
    .option('--state', 'also forget what keys have used, for when it is put again')
    .action((name: string, options: { state?: boolean }, command: Command) =>
      withPolicies(command, (policies, session) => remove(policies, session, name, options), { writes: true }),
    );

  addOverride(policy);
}

interface PutOptions {
  readonly app?: readonly string[];
  readonly removeApp?: readonly string[];
  readonly carryOver?: CarryOver;
  readonly dryRun?: boolean;
}

async function list(policies: Policies, { print, prefix }: Session): Promise<void> {
  const all = await policies.list();
  print(all, () => (all.length === 0 ? `no policies under ${prefix}:policies` : textOf(all)));
}

async function get(policies: Policies, { print }: Session, name: string): Promise<void> {
  const found = await policies.get(name);
  if (found === undefined) throw await missing(policies, name);
  print(found, () => textOf([found]));
}

async function put(
  policies: Policies,
  { print }: Session,
  name: string,
  policy: ManagedPolicy['policy'],
  options: PutOptions,
): Promise<void> {
  const { carryOver, dryRun = false } = options;
  let before: readonly string[] = [];
  const apps = (found: readonly string[]): string[] => appsAfter(name, (before = found), options);
  const { change, ...done } = await policies.put(name, policy, { apps, carryOver, dryRun });
  // A dry run writes nothing, so there is no version.
  const version = dryRun && change !== 'unchanged' ? null : done.version;
  print({ name: done.name, change, version, policy: done.policy, apps: done.apps }, () => {
    const what = `${name}${version === null ? '' : ` (version ${String(version)})`}: ${writtenPolicy(done.policy)}, for ${printable(done.apps.join(', '))}${change === 'created' ? '' : difference(before, done.apps)}`;
    return version === null ? `would be ${change}: ${what}` : `${change} ${what}`;
  });
}

/** The applications that had the policy, with those of `--app` and without those of `--remove-app`. */
function appsAfter(name: string, before: readonly string[], { app = [], removeApp = [] }: PutOptions): string[] {
  const both = removeApp.find((removed) => app.includes(removed));
  if (both !== undefined) throw new UsageError(`--app and --remove-app both name ${both}`);
  const absent = removeApp.find((removed) => !before.includes(removed));
  if (absent !== undefined) {
    throw new UsageError(`--remove-app ${absent}: ${name} is for ${before.length === 0 ? 'none' : before.join(', ')}`);
  }
  const after = [...before, ...app].filter((kept) => !removeApp.includes(kept));
  if (after.length > 0) return after;
  throw new UsageError('put needs --app: an application that may use the policy, beside those that are removed');
}

/** The applications that gain the policy and those that lose it, as in ` (added: billing; removed: checkout)`. */
function difference(before: readonly string[], after: readonly string[]): string {
  const added = after.filter((app) => !before.includes(app));
  const removed = before.filter((app) => !after.includes(app));
  const parts = [
    added.length > 0 && `added: ${added.join(', ')}`,
    removed.length > 0 && `removed: ${removed.join(', ')}`,
  ];
  const said = parts.filter((part) => part !== false).join('; ');
  return said === '' ? '' : ` (${printable(said)})`;
}

async function remove(
  policies: Policies,
  { print }: Session,
  name: string,
  { state = false }: { state?: boolean },
): Promise<void> {
  const removed = await policies.remove(name, { state });
  if (!removed) throw await missing(policies, name);
  print({ name, removed }, () => {
    return state ? `removed ${name}; what keys have used of it is forgotten` : `removed ${name}`;
  });
}

async function missing(policies: Policies, name: string): Promise<Failure> {
  const names = (await policies.list()).map((policy) => policy.name);
  return new Failure(
    `there is no policy ${name}; ${names.length === 0 ? 'none is defined' : `there are: ${names.join(', ')}`}`,
  );
}

function textOf(policies: readonly ManagedPolicy[]): string {
  return table(
    ['NAME', 'POLICY', 'APPS', 'VERSION', 'CHANGED'],
    policies.map(({ name, policy, apps, version, changedAtMs }) => [
      name,
      writtenPolicy(policy),
      apps.join(', '),
      String(version),
      writtenInstant(changedAtMs),
    ]),
  );
}
