import type { Command } from 'commander';
import { describePolicy, type Policy } from '@sluice/core';
import type { ManagedPolicy, PutResult } from '@sluice/core/managed';
import { mergeLost, readShared } from '@sluice/page/spi';
import { Failure } from './failure.ts';
import { addOverride, formatTarget } from './override.ts';
import { addPolicyOptions, POLICY_KINDS, parsePolicyFlags } from './policy-text.ts';
import { byOption, makePrint, repeated, withRedis, type Session } from './session.ts';
import { printable, table, writeInstant } from './text.ts';

interface PutFlags {
  readonly app?: readonly string[];
  readonly reset?: boolean;
  readonly by: string;
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
      // A user that may only change policies may not read what pages share.
      const records = await readShared(connection).catch(() => []);
      const lost = mergeLost(records).map(({ name, processes }) => {
        return { name, lost: true, processes: processes.map(({ pid, host }) => ({ pid, host })) };
      });
      const lines = lost.map(({ name, processes }) => {
        const holders = processes.map(({ pid, host }) => `${String(pid)} on ${host}`).join(', ');
        return `\nlost from Redis: ${printable(name)}, still in process ${printable(holders)}: put it again`;
      });
      const known = all.length === 0 ? `no policies under ${prefix}` : formatTable(all);
      makePrint(list)([...all, ...lost], () => `${known}${lines.join('')}`);
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
      makePrint(get)(found, () => formatTable([found]));
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
    .addOption(
      repeated('--app <name>', 'an application that may use it (default: unchanged, at first all); may be repeated'),
    )
    .option('--reset', 'clear all counts; otherwise used units stay used')
    .addHelpText('after', '\nExample: sluice policy put orders fixedWindow --limit 200 --window 1m --app shop')
    .action((name: string, kind: string, flags: PutFlags) => {
      const rule = parsePolicyFlags(kind, { ...flags });
      return withRedis(put, true, (session) => putPolicy(put, session, name, rule, flags));
    });

  const remove = policy
    .command('remove')
    .description('Removes a managed policy, within a second. Limiters that use it are then unconfigured.')
    .argument('<name>');
  addAudit(remove).action((name: string, { by, reason }: PutFlags) =>
    withRedis(remove, true, async (session) => {
      const removed = await session.policies.remove(name, audit({ by, reason }));
      if (!removed) throw await missing(session, name);
      makePrint(remove)({ name, removed }, () => `removed ${name}`);
    }),
  );

  addOverride(policy);
}

function addAudit(command: Command): Command {
  return command.addOption(byOption()).option('--reason <text>', 'why; stored with it');
}

async function putPolicy(
  command: Command,
  { policies }: Session,
  name: string,
  rule: Policy,
  { app: apps, reset = false, by, reason }: PutFlags,
): Promise<void> {
  const options = { ...audit({ by, reason }), reset, ...(apps === undefined ? {} : { apps }) };
  const done = await policies.put(name, rule, options);
  makePrint(command)(done, () => putText(done));
}

function putText({ change, name, policy, apps, startsAfresh, removedOverrides }: PutResult): string {
  const lines = [
    `${change} ${name}: ${describePolicy(policy)}, for ${apps === null ? 'all applications' : listed(apps)}`,
  ];
  if (startsAfresh && change !== 'created') lines.push('all clients start again');
  if (removedOverrides.length > 0)
    lines.push(`removed the overrides of the previous kind: ${removedOverrides.map(formatTarget).join(', ')}`);
  return lines.map(printable).join('\n');
}

async function missing({ policies }: Session, name: string): Promise<Failure> {
  const names = (await policies.list()).map((policy) => policy.name);
  const others = names.length === 0 ? 'none is defined' : `there are: ${names.join(', ')}`;
  return new Failure(`there is no policy ${name}; ${others}`);
}

function formatTable(policies: readonly ManagedPolicy[]): string {
  const rows = policies.map(({ name, policy, apps, changedAtMs, by, reason }) => {
    const who = by === null ? '' : ` by ${by}${reason === null ? '' : `: ${reason}`}`;
    return [name, describePolicy(policy), apps === null ? '(all)' : listed(apps), `${writeInstant(changedAtMs)}${who}`];
  });
  return table(['NAME', 'POLICY', 'APPS', 'CHANGED'], rows);
}

function listed(apps: readonly string[]): string {
  return apps.length === 0 ? 'no application' : apps.join(', ');
}

function audit({ by, reason }: { by: string; reason?: string | undefined }): {
  readonly by: string;
  readonly reason?: string;
} {
  return { by, ...(reason === undefined ? {} : { reason }) };
}
