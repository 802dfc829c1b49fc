import type { Command } from 'commander';
import type { Policy } from '@sluice/old-core';
import type { PageChange } from '@sluice/page/spi';
import type { OverrideOptions, OverrideTarget, PolicyOverride } from '@sluice/old-managed';
import { writtenPolicy } from '@sluice/old-core/inspect';
import {
  addPolicyOptions,
  Failure,
  policyFrom,
  policyKinds,
  printable,
  table,
  UsageError,
} from '@sluice/simulate/terminal';
import { auditText, endOf, keysOf } from './override-text.ts';
import { addServiceOptions } from './service-client.ts';
import type { OverrideClient } from './override-client.ts';
import type { Print } from './session.ts';
import { writtenInstant } from './written.ts';
import { withOverrides } from './with-overrides.ts';

const EXAMPLE =
  "sluice policy override set orders fixedWindow --key acme --limit 200 --window 1m --by ann --reason 'their launch'";

/** Adds `sluice policy override set | list | remove`. */
export function addOverride(policy: Command): void {
  const override = policy
    .command('override')
    .summary('give single keys other numbers than their managed policy')
    .description(
      'Gives single keys, or all keys that begin with a text, other numbers than their managed policy, and lists who did so and why.',
    );

  addPolicyOptions(
    addTarget(
      override
        .command('set')
        .summary('give a key, or all keys that begin with a text, other numbers')
        .description(
          'Gives a key, or all keys that begin with a text, other numbers than their managed policy, within a second. What they have used stays used.',
        )
        .argument('<name>', 'the managed policy; with --service the limit of the service')
        .argument('<kind>', `that of the policy: ${policyKinds.join(', ')}`),
    ),
  )
    .option('--until <instant>', 'when it ends, such as 2027-01-01T00:00:00Z')
    .option('--dry-run', 'print the old and the new numbers, and change nothing')
    .addHelpText('after', `\nExample: ${EXAMPLE}`)
    .action((name: string, kind: string, flags: SetFlags, command: Command) => {
      const target = targetOf(flags);
      const rule = policyFrom(kind, flags);
      const options = { ...auditOf(flags), until: instantOf(flags.until), dryRun: flags.dryRun === true };
      return withOverrides(command, (overrides, print) => set(overrides, print, { name, target, rule, options }), {
        writes: flags.dryRun !== true,
      });
    });

  addService(override.command('list'))
    .summary('print the overrides of a managed policy')
    .description('Prints the overrides of a managed policy, each with who set it, when and why.')
    .argument('<name>')
    .option('--ended', 'also those that were removed or have ended')
    .option('--starts-with <text>', 'only those whose key or prefix begins with this')
    .action((name: string, flags: { ended?: true; startsWith?: string }, command: Command) =>
      withOverrides(command, (overrides, print) => list(overrides, print, name, flags)),
    );

  addTarget(
    override
      .command('remove')
      .summary('remove an override')
      .description('Removes an override, within a second: its keys have the numbers of the policy again.')
      .argument('<name>'),
  )
    .option('--dry-run', 'print the old and the new numbers, and change nothing')
    .action((name: string, flags: TargetFlags, command: Command) => {
      const target = targetOf(flags);
      return withOverrides(command, (overrides, print) => remove(overrides, print, name, target, flags), {
        writes: flags.dryRun !== true,
      });
    });
}

interface TargetFlags {
  readonly key?: string;
  readonly keyPrefix?: string;
  readonly by: string;
  readonly reason: string;
  readonly dryRun?: true;
}

type SetFlags = TargetFlags & { readonly until?: string } & Readonly<Record<string, unknown>>;

function addService(command: Command): Command {
  return addServiceOptions(command, 'takes the name of its limit, and not what is in Redis');
}

function addTarget(command: Command): Command {
  return addService(command)
    .option('--key <key>', 'the key, as the limiter is given it')
    .option('--key-prefix <text>', 'or: all keys that begin with this text')
    .requiredOption('--by <who>', 'who changes it: kept with it')
    .requiredOption('--reason <why>', 'why: kept with it');
}

function targetOf({ key, keyPrefix }: TargetFlags): OverrideTarget {
  if (key !== undefined && keyPrefix === undefined) return key;
  if (key === undefined && keyPrefix !== undefined) return { prefix: keyPrefix };
  throw new UsageError('an override needs either --key or --key-prefix');
}

function auditOf({ by, reason }: TargetFlags): Pick<OverrideOptions, 'by' | 'reason'> {
  return { by, reason };
}

function instantOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const atMs = Date.parse(text);
  if (!Number.isNaN(atMs)) return atMs;
  throw new UsageError(`--until takes an instant such as 2027-01-01T00:00:00Z, got ${JSON.stringify(text)}`);
}

interface Setting {
  readonly name: string;
  readonly target: OverrideTarget;
  readonly rule: Policy;
  readonly options: OverrideOptions;
}

async function set(
  { policies, tell }: OverrideClient,
  print: Print,
  { name, target, rule, options }: Setting,
): Promise<void> {
  const done = await policies.override(name, target, rule, options);
  const isPlanned = options.dryRun === true && done.change !== 'unchanged';
  // A dry run writes nothing, so there is no version.
  print({ ...done, version: isPlanned ? null : done.version }, () => {
    const numbers = `${numbersOf(done.before)} -> ${numbersOf(done.policy)}`;
    const said = `${placeOf(done)}: ${done.change === 'unchanged' ? numbersOf(done.policy) : numbers}${endOf(done)}${auditText(done)}`;
    return isPlanned ? `would be ${done.change}: ${said}` : `${done.change} ${said}`;
  });
  if (options.dryRun === true || done.change === 'unchanged') return;
  await tell(
    changeOf(done, 'set override', `${numbersOf(done.before)} -> ${numbersOf(done.policy)}${endOf(done)}`, options),
  );
}

async function list(
  { policies }: OverrideClient,
  print: Print,
  name: string,
  { ended, startsWith }: { ended?: true; startsWith?: string },
): Promise<void> {
  const found = await policies.overrides(name, { ended, startsWith });
  print(found, () => (found.length === 0 ? `no overrides of ${printable(name)}` : tableOf(found)));
}

async function remove(
  { policies, policyOf, tell }: OverrideClient,
  print: Print,
  name: string,
  target: OverrideTarget,
  flags: TargetFlags,
): Promise<void> {
  const [own, next] = await policies.overrides(name, { concerning: target });
  if (own === undefined || !isOf(own, target)) throw noneOf(name, target);
  const before = own.policy;
  const policy = next?.policy ?? (await policyOf(name)) ?? null;
  const isPlanned = flags.dryRun === true;
  if (!isPlanned && !(await policies.removeOverride(name, target, auditOf(flags)))) throw noneOf(name, target);
  print({ name, target: own.target, removed: !isPlanned, before, policy }, () => {
    const after = policy === null ? `the numbers of ${printable(name)}` : numbersOf(policy);
    return `${isPlanned ? 'would be removed:' : 'removed'} ${placeOf(own)}: ${numbersOf(before)} -> ${after}`;
  });
  if (!isPlanned)
    await tell(changeOf(own, 'end override', `${numbersOf(before)} -> ${numbersOf(policy)}`, auditOf(flags)));
}

/** Whether an override is that of a target. A long key is known by its hash. */
function isOf(override: PolicyOverride, target: OverrideTarget): boolean {
  return (
    (typeof override.target === 'string') === (typeof target === 'string') &&
    (typeof target === 'string' || prefixOf(override) === target.prefix)
  );
}

function prefixOf({ target }: PolicyOverride): string | undefined {
  return typeof target === 'string' ? undefined : target.prefix;
}

/** As pages show it. */
function changeOf(
  override: PolicyOverride,
  action: 'set override' | 'end override',
  detail: string,
  { by = '', reason = '' }: Pick<OverrideOptions, 'by' | 'reason'>,
): PageChange {
  return { atMs: Date.now(), by, action, target: `${keysOf(override)} of ${override.name}`, detail, reason };
}

function noneOf(name: string, target: OverrideTarget): Failure {
  const whose = typeof target === 'string' ? `the key ${target}` : `keys that begin with ${target.prefix}`;
  return new Failure(`${name} has no override for ${whose}`);
}

function tableOf(overrides: readonly PolicyOverride[]): string {
  return table(
    ['KEY', 'POLICY', 'UNTIL', 'BY', 'REASON', 'CHANGED'],
    overrides.map((override) => [
      keysOf(override),
      numbersOf(override.policy),
      override.untilMs === null ? '-' : writtenInstant(override.untilMs),
      override.by ?? '-',
      override.reason ?? '-',
      writtenInstant(override.changedAtMs),
    ]),
  );
}

function placeOf(override: PolicyOverride): string {
  return `${printable(override.name)} for ${printable(keysOf(override))}`;
}

function numbersOf(policy: Policy | null): string {
  return policy === null ? 'removed' : writtenPolicy(policy);
}
