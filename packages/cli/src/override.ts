import type { Command } from 'commander';
import { describePolicy } from '@sluice/core';
import type { OverrideResult, OverrideTarget, Policies, PolicyOverride } from '@sluice/core/managed';
import { Failure, UsageError } from './failure.ts';
import { addPolicyOptions, POLICY_KINDS, parsePolicyFlags } from './policy-text.ts';
import { addServiceOptions, ask, type ServiceFlags } from './service.ts';
import { byOption, makePrint, withRedis } from './session.ts';
import { parseFlagDuration, printable, table, writeInstant } from './text.ts';

interface TargetFlags extends ServiceFlags {
  readonly key?: string;
  readonly keyPrefix?: string;
  readonly by: string;
  readonly reason: string;
}

/** Adds `sluice policy override set | list | remove`. */
export function addOverride(policy: Command): void {
  const override = policy
    .command('override')
    .description('Gives single keys, or all keys with a prefix, different numbers than their managed policy.');

  const set = override
    .command('set')
    .description('Gives a key, or all keys with a prefix, different numbers, within a second. Used units stay used.')
    .argument('<name>', 'the managed policy; with --service the limit of the service')
    .argument('<kind>', `that of the policy: ${POLICY_KINDS}`);
  addPolicyOptions(addTarget(set))
    .option('--until <when>', 'when it ends: in 1h, or at 2027-01-01T00:00:00Z')
    .action((name: string, kind: string, flags: TargetFlags & { until?: string }) => {
      const rule = parsePolicyFlags(kind, { ...flags });
      const target = readTarget(flags);
      const { by, reason } = flags;
      const options = { by, reason, ...(flags.until === undefined ? {} : { until: readInstant(flags.until) }) };
      return withOverrides(set, flags, true, async (overrides) => {
        const done = await overrides.override(name, target, rule, options);
        const detail = `${done.change === 'unchanged' ? '' : `${describePolicy(done.before)} -> `}${describePolicy(done.policy)}${formatEnd(done)}`;
        makePrint(set)(
          done,
          () => `${done.change} ${formatPlace(done)}: ${detail} (${printable(by)}: ${printable(reason)})`,
        );
      });
    });

  const list = override
    .command('list')
    .description('Prints the overrides that are in force, each with who set it and why.');
  addService(list.argument('<name>')).action((name: string, flags: ServiceFlags) =>
    withOverrides(list, flags, false, async (overrides) => {
      const found = await overrides.overrides(name);
      makePrint(list)(found, () => (found.length === 0 ? `no overrides of ${printable(name)}` : formatTable(found)));
    }),
  );

  const remove = override
    .command('remove')
    .description('Removes an override, within a second: its keys have the numbers of the policy again.')
    .argument('<name>');
  addTarget(remove).action((name: string, flags: TargetFlags) => {
    const target = readTarget(flags);
    const { by, reason } = flags;
    return withOverrides(remove, flags, true, async (overrides) => {
      const removed = await overrides.removeOverride(name, target, { by, reason });
      if (!removed) throw new Failure(`${name} has no override for ${formatTarget(target)}; nothing was changed`);
      makePrint(remove)({ name, target, removed }, () => `removed ${formatPlace({ name, target })}`);
    });
  });
}

type Overrides = Pick<Policies, 'override' | 'overrides' | 'removeOverride'>;

/** Runs work on the overrides in Redis or, with `--service`, on those of a service. */
async function withOverrides(
  command: Command,
  flags: ServiceFlags,
  writes: boolean,
  work: (overrides: Overrides) => Promise<void>,
): Promise<void> {
  if (flags.service === undefined) await withRedis(command, writes, ({ policies }) => work(policies));
  else await work(openServiceOverrides(flags));
}

/** Names refer to the service's limits. */
function openServiceOverrides(flags: ServiceFlags): Overrides {
  const getFields = (target: OverrideTarget): object => (typeof target === 'string' ? { key: target } : target);
  return {
    override: async (limit, target, policy, options) =>
      (await ask(flags, 'v1/override', { limit, ...getFields(target), policy, ...options })) as OverrideResult,
    overrides: async (limit) => {
      const { overrides, hasMore } = (await ask(flags, 'v1/overrides', { limit })) as {
        readonly overrides: readonly PolicyOverride[];
        readonly hasMore: boolean;
      };
      if (hasMore) console.error(`sluice: the service lists ${String(overrides.length)} at most`);
      return overrides;
    },
    removeOverride: async (limit, target, options) => {
      const answer = await ask(flags, 'v1/remove-override', { limit, ...getFields(target), ...options });
      return (answer as { readonly removed: boolean }).removed;
    },
  };
}

function addService(command: Command): Command {
  return addServiceOptions(command, 'takes the name of its limit, and not what is in Redis');
}

function addTarget(command: Command): Command {
  return addService(command)
    .option('--key <key>', 'the key, as the application passes it to the limiter')
    .option('--key-prefix <text>', 'or all keys that begin with this text')
    .addOption(byOption())
    .requiredOption('--reason <why>', 'why; stored with it');
}

function readTarget({ key, keyPrefix }: TargetFlags): OverrideTarget {
  if (key !== undefined && keyPrefix === undefined) return key;
  if (key === undefined && keyPrefix !== undefined) return { prefix: keyPrefix };
  throw new UsageError('an override needs either --key or --key-prefix');
}

function readInstant(given: string): Date {
  const text = given.trim();
  // To Date, a number alone would be a year.
  if (/^[\d.]+ ?(ms|s|m|h|d)?$/.test(text)) return new Date(Date.now() + parseFlagDuration(text, '--until'));
  const atMs = /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(atMs)) return new Date(atMs);
  const expected = 'a time such as 1h, or an instant such as 2027-01-01T00:00:00Z';
  throw new UsageError(`--until takes ${expected}, got ${JSON.stringify(text)}`);
}

function formatTable(overrides: readonly PolicyOverride[]): string {
  const rows = overrides.map(({ target, policy, untilMs, by, reason, changedAtMs }) => [
    ...[formatTarget(target), describePolicy(policy), untilMs === null ? '-' : writeInstant(untilMs)],
    ...[by ?? '-', reason ?? '-', writeInstant(changedAtMs)],
  ]);
  return table(['KEY', 'POLICY', 'UNTIL', 'BY', 'REASON', 'CHANGED'], rows);
}

function formatPlace({ name, target }: Pick<PolicyOverride, 'name' | 'target'>): string {
  return `${printable(name)} for ${printable(formatTarget(target))}`;
}

/** The key of an override, or its prefix with a star: `org-7:*`. */
export function formatTarget(target: OverrideTarget): string {
  return typeof target === 'string' ? target : `${target.prefix}*`;
}

/** When it ends, as the end of a sentence. */
export function formatEnd({ untilMs }: PolicyOverride): string {
  return untilMs === null ? '' : `, until ${writeInstant(untilMs)}`;
}
