import { Option, type Command } from 'commander';
import type { Policy } from '@sluice/old-core';
import { inspectKey, ownerOfExternalState, writtenPolicy, type KeyReport } from '@sluice/old-core/inspect';
import type { PolicyOverride } from '@sluice/old-managed';
import { collect } from './collect.ts';
import { auditText, endOf, keysOf } from './override-text.ts';
import { policyFromText, printable, table } from '@sluice/simulate/terminal';
import { findKeys } from './find-keys.ts';
import { definitionsIn, nowOf, read } from './read-keys.ts';
import { withSession, type Session } from './session.ts';
import { writtenInstant, writtenSpan } from './written.ts';

/** Adds `sluice inspect KEY`. */
export function addInspect(sluice: Command): void {
  sluice
    .command('inspect')
    .summary('print what a key has used')
    .description('Prints what a key has used, what is left and when it resets. Changes nothing.')
    .argument('<key>', 'the key that the application limits, such as an address or a user; or a whole key in Redis')
    .addOption(
      new Option(
        '--policy <text>',
        "a limiter's policy, as in 'fixedWindow --limit 100 --window 1m [--name burst]'; may be repeated",
      ).argParser(collect),
    )
    .addHelpText(
      'after',
      '\nScans every key in Redis, a thousand at a time. A whole key is read directly.\nA key that cannot be read is reported as such, and does not fail the command.',
    )
    .action(async (key: string, { policy = [] }: { policy?: readonly string[] }, command: Command) => {
      const policies = policy.map(policyFromText);
      await withSession(command, (session) => inspect(session, key, policies));
    });
}

async function inspect(
  { connection, prefix, print }: Session,
  key: string,
  policies: readonly Policy[],
): Promise<void> {
  const isDetail = (one: string): boolean => ownerOfExternalState(one, prefix) !== undefined;
  const keys = (await findKeys(connection, key, prefix)).filter((one) => one === key || !isDetail(one));
  const values = await Promise.all(keys.map(async (one) => (isDetail(one) ? '' : read(connection, one))));
  const definitions = await definitionsIn(connection, prefix);
  // Read after the values, so that no value is from a later instant.
  const atMs = await nowOf(connection);
  const reports = keys.flatMap((one, i): readonly KeyReport[] => {
    const value = values[i];
    if (value === null || value === undefined) return []; // expired, or deleted meanwhile
    if (typeof value !== 'string') return [unreadable(one, value.problem)];
    return [inspectKey(one, value, atMs, { prefix, policies, definitions })];
  });
  print({ key, atMs, keys: reports }, () => textOf(key, atMs, reports));
}

function unreadable(key: string, problem: string): KeyReport {
  return { key, subject: null, limiter: null, blockedUntilMs: null, denials: null, policies: [], problem };
}

/** How many of the keys found are printed as text. */
const MOST_SHOWN = 100;
const NOTHING_FOUND = `no state: no key is KEY, or has it as one of its parts
A key that joins more than 256 characters, or has braces, is a hash: ask for all of it, as 'edge|user|ann' or '203.0.113.7|/login'.
The keys of another store need --redis and --prefix as that store has them.`;
const HEADINGS = ['LIMITER', 'NAME', 'POLICY', 'USED', 'LIMIT', 'REMAINING', 'RESETS', 'BLOCKED UNTIL'];

function textOf(key: string, atMs: number, reports: readonly KeyReport[]): string {
  if (reports.length === 0) return NOTHING_FOUND.replace('KEY', () => printable(key));
  const isJoined = reports.slice(0, MOST_SHOWN).some(({ subject }) => subject !== null && subject !== key);
  const rows = reports
    .slice(0, MOST_SHOWN)
    .flatMap((report) =>
      report.policies.map((policy) => [
        ...(isJoined ? [printable(report.subject ?? key)] : []),
        report.limiter ?? '(managed)',
        policy.name,
        policy.policy === null ? policy.algorithm : writtenPolicy(policy.policy),
        numberOf(policy.used),
        numberOf(policy.limit),
        numberOf(policy.remaining),
        whenOf(policy.resetAtMs, atMs),
        whenOf(report.blockedUntilMs, atMs),
      ]),
    );
  const problems = reports.flatMap((report) =>
    report.problem === null
      ? []
      : [
          `${printable(report.key)}: ${printable(report.problem)}` +
            (report.blockedUntilMs === null ? '' : `; blocked until ${whenOf(report.blockedUntilMs, atMs)}`),
        ],
  );
  const denials = reports.flatMap(({ key: one, denials: counted }) =>
    counted === null
      ? []
      : [
          `${printable(one)}: denials ${String(counted.count)}, blocks ${String(counted.blocks)}, forgotten ${whenOf(counted.forgottenAtMs, atMs)}`,
        ],
  );
  const overrides = reports.flatMap(({ key: one, policies }) =>
    policies.flatMap(({ name, override }) =>
      override === null ? [] : [`${printable(one)}: ${overrideText(name, override as PolicyOverride)}`],
    ),
  );
  const outlines = reports.flatMap(({ policies }) =>
    policies.flatMap(({ name, detailKey }) =>
      detailKey === null
        ? []
        : [
            `${name}: used as of the last write, and at most that much now; the time of each unit is in ${printable(detailKey)}`,
          ],
    ),
  );
  return [
    `at ${writtenInstant(atMs)} by the clock of Redis`,
    ...(rows.length > 0 ? [table(isJoined ? ['KEY', ...HEADINGS] : HEADINGS, rows)] : []),
    ...(reports.length > MOST_SHOWN
      ? [`and ${String(reports.length - MOST_SHOWN)} more keys, which --json prints`]
      : []),
    ...overrides,
    ...outlines,
    ...denials,
    ...problems,
  ].join('\n');
}

function overrideText(name: string, override: PolicyOverride): string {
  return `the override of ${name} for ${printable(keysOf(override))} is in force${endOf(override)}${auditText(override)}`;
}

function numberOf(value: number | null): string {
  return value === null ? '-' : String(value);
}

function whenOf(instantMs: number | null, nowMs: number): string {
  return instantMs === null ? '-' : `${writtenInstant(instantMs)} (in ${writtenSpan(instantMs - nowMs)})`;
}
