import type { Command } from 'commander';
import { describePolicy, type Policy } from '@sluice/core';
import type { ManagedPolicy, PutResult } from '@sluice/core/managed';
import { mergeLost, readShared } from '@sluice/page/spi';
import { Failure, UsageError } from './failure.ts';
import { addOverride } from './override.ts';
import { addPolicyOptions, POLICY_KINDS, policyFrom } from './policy-text.ts';
import { printOf, repeated, withRedis, type Session } from './session.ts';
import { printable, table, writeInstant } from './text.ts';

interface PutFlags {
  readonly app?: readonly string[];
  readonly removeApp?: readonly string[];
  readonly reset?: true;
  readonly by?: string;
  readonly reason?: string;
}

/** Adds `sluice policy list | get | put | remove | override`. */
export function addPolicy(sluice: Command): void {
  const policy = sluice
    .command('policy')
    .summary('list and change managed policies')
    .description('Lists and changes managed policies: those that applications use by their name, managed("orders").');

  const list = policy.command('list').description('Prints all managed policies.');
  list.action(() =>
    withRedis(list, false, async ({ policies, prefix, connection }) => {
      const all = await policies.list();
      // Who may only change policies may not read what pages share.
      const records = await readShared(connection).catch(() => []);
      const lost = mergeLost(records).map(({ name, processes }) => {
        return { name, lost: true, processes: processes.map(({ pid, host }) => ({ pid, host })) };
      });
      const lines = lost.map(({ name, processes }) => {
        const holders = processes.map(({ pid, host }) => `${String(pid)} on ${host}`).join(', ');
        return `\nlost from Redis: ${printable(name)}, still in process ${printable(holders)}: put it again`;
      });
      const known = all.length === 0 ? `no policies under ${prefix}` : tableOf(all);
      printOf(list)([...all, ...lost], () => `${known}${lines.join('')}`);
    }),
  );

  const get = policy
    .command('get')
    .description('Prints one managed policy. Fails if there is none.')
    .argument('<name>');
  get.action((name: string) =>
    withRedis(get, false, async (session) => {
      const found = await session.policies.get(name);
      if (found === undefined) throw await missing(session, name);
      printOf(get)(found, () => tableOf([found]));
    }),
  );

  const put = policy
    .command('put')
    .description(
      'Defines a managed policy, or changes it, in every process within a second. Repeating it changes nothing.',
    )
    .argument('<name>')
    .argument('<kind>', POLICY_KINDS);
  addAudit(addPolicyOptions(put))
    .addOption(repeated('--app <name>', 'another application that may use it (default: all); may be repeated'))
    .addOption(repeated('--remove-app <name>', 'an application that may no longer use it; may be repeated'))
    .option('--reset', 'clear all counts; otherwise used units stay used')
    .addHelpText('after', '\nExample: sluice policy put orders fixedWindow --limit 200 --window 1m --app shop')
    .action((name: string, kind: string, flags: PutFlags) => {
      const rule = policyFrom(kind, { ...flags });
      return withRedis(put, true, (session) => putPolicy(put, session, name, rule, flags));
    });

  const remove = policy
    .command('remove')
    .description('Removes a managed policy, within a second. Limiters that use it are then unconfigured.')
    .argument('<name>');
  addAudit(remove).action((name: string, { by, reason }: PutFlags) =>
    withRedis(remove, true, async (session) => {
      const removed = await session.policies.remove(name, definedOf({ by, reason }));
      if (!removed) throw await missing(session, name);
      printOf(remove)({ name, removed }, () => `removed ${name}`);
    }),
  );

  addOverride(policy);
}

function addAudit(command: Command): Command {
  return command
    .option('--by <name>', 'who changes it; stored with it')
    .option('--reason <text>', 'why; stored with it');
}

async function putPolicy(
  command: Command,
  { policies }: Session,
  name: string,
  rule: Policy,
  flags: PutFlags,
): Promise<void> {
  const { app = [], removeApp = [], reset = false, by, reason } = flags;
  const both = removeApp.find((removed) => app.includes(removed));
  if (both !== undefined) throw new UsageError(`--app and --remove-app both name ${both}`);
  let before: readonly string[] = [];
  const apps = (present: readonly string[]): readonly string[] => {
    before = present;
    const absent = removeApp.find((removed) => !present.includes(removed));
    if (absent !== undefined) throw new UsageError(`--remove-app ${absent}: ${name} is for ${listed(present)}`);
    return [...present, ...app].filter((kept) => !removeApp.includes(kept));
  };
  const options = { ...definedOf({ by, reason }), reset, ...(app.length + removeApp.length === 0 ? {} : { apps }) };
  const done = await policies.put(name, rule, options);
  printOf(command)(done, () => putText(done, before, 'apps' in options));
}

function putText(done: PutResult, before: readonly string[], changesApps: boolean): string {
  const { change, name, policy, apps, startsAfresh, removedOverrides } = done;
  const after = apps ?? [];
  const added = after.filter((one) => !before.includes(one));
  const removed = before.filter((one) => !after.includes(one));
  const differences = [
    added.length > 0 && change !== 'created' && changesApps ? `added: ${added.join(', ')}` : '',
    removed.length > 0 && changesApps ? `removed: ${removed.join(', ')}` : '',
  ].filter((one) => one !== '');
  const what = `${change} ${name}: ${describePolicy(policy)}, for ${apps === null ? 'all applications' : listed(apps)}`;
  const lines = [`${what}${differences.length === 0 ? '' : ` (${differences.join('; ')})`}`];
  if (startsAfresh && change !== 'created') lines.push('all clients start again');
  if (removedOverrides.length > 0) {
    const targets = removedOverrides.map((target) => (typeof target === 'string' ? target : `${target.prefix}*`));
    lines.push(`removed the overrides of the kind before: ${targets.join(', ')}`);
  }
  return lines.map(printable).join('\n');
}

async function missing({ policies }: Session, name: string): Promise<Failure> {
  const names = (await policies.list()).map((policy) => policy.name);
  const others = names.length === 0 ? 'none is defined' : `there are: ${names.join(', ')}`;
  return new Failure(`there is no policy ${name}; ${others}`);
}

function tableOf(policies: readonly ManagedPolicy[]): string {
  const rows = policies.map(({ name, policy, apps, changedAtMs, by, reason }) => {
    const who = by === null ? '' : ` by ${by}${reason === null ? '' : `: ${reason}`}`;
    return [name, describePolicy(policy), apps === null ? '(all)' : listed(apps), `${writeInstant(changedAtMs)}${who}`];
  });
  return table(['NAME', 'POLICY', 'APPS', 'CHANGED'], rows);
}

function listed(apps: readonly string[]): string {
  return apps.length === 0 ? 'no application' : apps.join(', ');
}

function definedOf(options: { readonly by: string | undefined; readonly reason: string | undefined }): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
