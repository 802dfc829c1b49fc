import { Option, type Command } from 'commander';
import type { Policy } from '@sluice/core';
import {
  inspectKey,
  isWholeKey,
  keyPattern,
  ownerOfDetails,
  writtenPolicy,
  type KeyReport,
} from '@sluice/core/inspect';
import { collect } from './collect.ts';
import { policyFromText } from './policy-options.ts';
import { primariesOf, type Connection } from './redis.ts';
import { globalsOf, withSession, type Session } from './session.ts';
import { printable, table } from './table.ts';
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
      const { prefix } = globalsOf(command);
      const pattern = isWholeKey(key, prefix) ? undefined : keyPattern(key, prefix);
      await withSession(command, (session) => inspect(session, key, pattern, policies));
    });
}

async function inspect(
  { connection, prefix, print }: Session,
  key: string,
  pattern: string | undefined,
  policies: readonly Policy[],
): Promise<void> {
  const isDetail = (one: string): boolean => ownerOfDetails(one, prefix) !== undefined;
  const keys = pattern === undefined ? [key] : (await scan(connection, pattern)).filter((one) => !isDetail(one));
  const values = await Promise.all(keys.map(async (one) => (isDetail(one) ? '' : read(connection, one))));
  const records = await recordsOf(connection, prefix);
  // Read after the values, so that no value is from a later instant.
  const atMs = instantOf(await clockOf(connection).time());
  const reports = keys.flatMap((one, i): readonly KeyReport[] => {
    const value = values[i];
    if (value === null || value === undefined) return []; // expired, or deleted meanwhile
    if (typeof value !== 'string') return [unreadable(one, value.problem)];
    return [inspectKey(one, value, atMs, { prefix, policies, records })];
  });
  print({ key, atMs, keys: reports }, () => textOf(key, atMs, reports));
}

async function scan(connection: Connection, pattern: string): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const server of primariesOf(connection)) {
    let cursor = '0';
    do {
      const [next, keys] = await server.scan(cursor, 'MATCH', pattern, 'COUNT', 1_000);
      for (const key of keys) found.add(key);
      cursor = next;
    } while (cursor !== '0');
  }
  return [...found].sort();
}

async function read(connection: Connection, key: string): Promise<string | null | { readonly problem: string }> {
  try {
    return await connection.get(key);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return { problem: 'it is not a string' };
    throw error;
  }
}

/** A record that is not JSON becomes null, which is reported as unreadable. */
async function recordsOf(connection: Connection, prefix: string): Promise<Readonly<Record<string, unknown>>> {
  const texts = await connection.hgetall(`${prefix}:policies`);
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => {
      try {
        return [name, JSON.parse(text) as unknown];
      } catch {
        return [name, null];
      }
    }),
  );
}

function clockOf(connection: Connection): Pick<Connection, 'time'> {
  return primariesOf(connection)[0] ?? connection;
}

function instantOf([seconds, microseconds]: readonly (string | number)[]): number {
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

function unreadable(key: string, problem: string): KeyReport {
  return { key, subject: null, limiter: null, blockedUntilMs: null, denials: null, policies: [], problem };
}

const HEADINGS = ['LIMITER', 'NAME', 'POLICY', 'USED', 'LIMIT', 'REMAINING', 'RESETS', 'BLOCKED UNTIL'];

function textOf(key: string, atMs: number, reports: readonly KeyReport[]): string {
  if (reports.length === 0) return `no state: ${printable(key)} has used nothing`;
  const rows = reports.flatMap((report) =>
    report.policies.map((policy) => [
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
    ...(rows.length > 0 ? [table(HEADINGS, rows)] : []),
    ...outlines,
    ...denials,
    ...problems,
  ].join('\n');
}

function numberOf(value: number | null): string {
  return value === null ? '-' : String(value);
}

function whenOf(instantMs: number | null, nowMs: number): string {
  return instantMs === null ? '-' : `${writtenInstant(instantMs)} (in ${writtenSpan(instantMs - nowMs)})`;
}
