import type { Command } from 'commander';
import { describePolicy, type Policy } from '@sluice/core';
import type { PolicyOverride } from '@sluice/core/managed';
import { compile, readWriter } from '@sluice/core/spi';
import { findKeys, type StateKey } from './keys.ts';
import { formatEnd, formatTarget } from './override.ts';
import { readPolicyText } from './policy-text.ts';
import { makePrint, repeated, withRedis, type Session } from './session.ts';
import { printable, table, writeInstant, writeWait } from './text.ts';

/** What a key has used of a policy. Fields that are unknown, from the value or otherwise, are null. */
interface KeyReport {
  readonly key: string;
  readonly subject: string;
  /** `limiter` or `limiter:policy`, or the name of a managed policy. */
  readonly limit: string;
  readonly isManaged: boolean;
  readonly algorithm: string | null;
  /** The policy with which it was read, if all its numbers are known. */
  readonly policy: Policy | null;
  readonly override: PolicyOverride | null;
  readonly used: number | null;
  readonly remaining: number | null;
  /** When one unit is allowed; null if never, or if unknown. */
  readonly allowedAtMs: number | null;
  readonly resetAtMs: number | null;
  readonly blockedUntilMs: number | null;
  /** Why it cannot be read. */
  readonly problem: string | null;
}

/** How many of the found keys are printed as text. */
const MAX_SHOWN = 100;
/** How many keys are read at once. */
const PAGE = 500;

/** Adds `sluice inspect KEY`. */
export function addInspect(sluice: Command): void {
  const command = sluice
    .command('inspect')
    .summary('print what a key has used')
    .description('Prints what a key has used, what is left and when it resets. Changes nothing.')
    .argument('<key>', 'the key that the application limits, such as an address or a user; or a whole key in Redis')
    .addOption(
      repeated(
        '--policy <text>',
        "the policy of a limiter, as in 'fixedWindow --limit 100 --window 1m [--name login]'; may be repeated",
      ),
    )
    .addHelpText('after', '\nScans every key in Redis, a thousand at a time. A whole key is read directly.');
  command.action(async (key: string, { policy: texts = [] }: { policy?: readonly string[] }) => {
    const policies = texts.map((text) => readPolicyText(text).policy);
    await withRedis(command, false, (session) => inspect(command, session, key, policies));
  });
}

async function inspect(command: Command, session: Session, key: string, given: readonly Policy[]): Promise<void> {
  const { own, joined } = await findKeys(session.client, key, session.prefix);
  const keys = [...own, ...joined];
  const find = await findManagedPolicies(session, keys);
  const reports: KeyReport[] = [];
  let atMs = Date.now();
  for (let i = 0; i < keys.length; i += PAGE) {
    const page = keys
      .slice(i, i + PAGE)
      .map(async (one) => readState(session, one, find(one) ?? findGiven(one, given)));
    for (const found of await Promise.all(page)) {
      if (found === undefined) continue; // expired meanwhile
      reports.push(found.report);
      atMs = found.atMs ?? atMs;
    }
  }
  makePrint(command)({ key, atMs, keys: reports }, () => writeText(key, atMs, reports));
}

interface Known {
  readonly policy: Policy;
  readonly override: PolicyOverride | null;
}

/** Finds the policy of keys with managed policies. */
async function findManagedPolicies(
  { policies }: Session,
  keys: readonly StateKey[],
): Promise<(key: StateKey) => Known | undefined> {
  const getName = ({ limit }: StateKey): string => limit.replace(/[@:].*$/s, '');
  const names = [...new Set(keys.filter(({ isManaged }) => isManaged).map(getName))];
  const all = new Map<string, { readonly policy: Policy; readonly overrides: readonly PolicyOverride[] }>();
  for (const name of names) {
    const found = await policies.get(name);
    if (found !== undefined) all.set(name, { policy: found.policy, overrides: await policies.overrides(name) });
  }
  return (key) => {
    const found = key.isManaged ? all.get(getName(key)) : undefined;
    if (found === undefined) return undefined;
    const { subject } = key;
    const getPrefix = ({ target }: PolicyOverride): string => (typeof target === 'string' ? '' : target.prefix);
    const byPrefix = found.overrides.filter((one) => getPrefix(one) !== '' && subject.startsWith(getPrefix(one)));
    byPrefix.sort((one, other) => getPrefix(other).length - getPrefix(one).length);
    const override = found.overrides.find(({ target }) => target === subject) ?? byPrefix[0] ?? null;
    return { policy: override?.policy ?? found.policy, override };
  };
}

/** The policy given for a key: by its name or, without one, for all keys of its kind. */
function findGiven({ limit }: StateKey, given: readonly Policy[]): readonly Policy[] {
  const name = limit.slice(limit.indexOf(':') + 1);
  const named = given.filter((policy) => policy.name === name);
  return named.length > 0 ? named : given.filter((policy) => policy.name === undefined);
}

async function readState(
  { client, store }: Session,
  one: StateKey,
  known: Known | readonly Policy[],
): Promise<{ readonly report: KeyReport; readonly atMs?: number } | undefined> {
  const { key, asked, subject, limit, isManaged } = one;
  const place = { key, subject, limit, isManaged };
  try {
    const text = await client.get(key);
    if (text === null) return undefined;
    const writer = readWriter(key, text);
    const { kind } = compile(writer.policy);
    const isOfKind = (policy: Policy): boolean => compile(policy).kind === kind;
    const [policy, override] = 'policy' in known ? [known.policy, known.override] : [known.find(isOfKind), null];
    const told = policy !== undefined && isOfKind(policy) ? policy : writer.tellsLimit ? writer.policy : undefined;
    const { atMs, figures } = await store.perform('peek', [{ key: asked, policy: told ?? writer.policy, cost: 1 }]);
    const [, remaining = 0, used = 0, retry = 0, reset = 0, , , blocked = 0] = figures[0] ?? [];
    const report: KeyReport = {
      ...place,
      algorithm: writer.policy.algorithm,
      policy: told === undefined || (told === writer.policy && !writer.tellsTimes) ? null : told,
      override,
      used,
      remaining: told === undefined ? null : remaining,
      allowedAtMs: told === undefined || retry < 0 ? null : atMs + retry,
      resetAtMs: reset === 0 ? null : atMs + reset,
      blockedUntilMs: blocked === 0 ? null : atMs + blocked,
      problem: null,
    };
    return { report, atMs };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    const isForeign = code === 'SLUICE_STORE_KEY_FOREIGN' || code === 'SLUICE_POLICY_INVALID';
    if (!isForeign && !message.includes('WRONGTYPE')) throw error;
    const unknown = { algorithm: null, policy: null, override: null, used: null, remaining: null };
    const problem = isForeign ? 'Sluice did not write this value' : 'it is not a string';
    return { report: { ...place, ...unknown, allowedAtMs: null, resetAtMs: null, blockedUntilMs: null, problem } };
  }
}

const HEADINGS = ['LIMIT', 'POLICY', 'USED', 'REMAINING', 'ALLOWED', 'RESETS', 'BLOCKED UNTIL'];

function writeText(key: string, atMs: number, all: readonly KeyReport[]): string {
  if (all.length === 0) {
    return `no state: no key is ${printable(key)}, or has it as one of its parts
A key that joins more than 256 characters, or has braces, is a hash: ask for all of it, as 'edge|user|ann' or '203.0.113.7|/login'.
The keys of another store need --redis and --prefix as that store has them.`;
  }
  const reports = all.slice(0, MAX_SHOWN);
  const isJoined = reports.some(({ subject }) => subject !== key);
  const rows = reports
    .filter(({ problem }) => problem === null)
    .map((one) => [
      ...(isJoined ? [one.subject] : []),
      one.isManaged ? `${one.limit} (managed)` : one.limit,
      one.policy === null ? (one.algorithm ?? '-') : describePolicy(one.policy),
      String(one.used),
      one.remaining === null ? '-' : String(one.remaining),
      one.allowedAtMs !== null && one.allowedAtMs <= atMs ? 'now' : formatWhen(one.allowedAtMs, atMs),
      formatWhen(one.resetAtMs, atMs),
      formatWhen(one.blockedUntilMs, atMs),
    ]);
  const notes = reports.flatMap(({ key: own, limit, override, problem }) => {
    if (problem !== null) return [`${printable(own)}: ${problem}`];
    if (override === null) return [];
    const why = `${override.by ?? 'unknown'}: ${override.reason ?? 'no reason'}`;
    return [printable(`${limit}: by the override for ${formatTarget(override.target)}${formatEnd(override)} (${why})`)];
  });
  const more = all.length - reports.length;
  return [
    `at ${writeInstant(atMs)} by the clock of Redis`,
    ...(rows.length > 0 ? [table(isJoined ? ['KEY', ...HEADINGS] : HEADINGS, rows)] : []),
    ...(more > 0 ? [`and ${String(more)} more keys, which --json prints`] : []),
    ...notes,
  ].join('\n');
}

function formatWhen(instantMs: number | null, nowMs: number): string {
  return instantMs === null ? '-' : `${writeInstant(instantMs)} (in ${writeWait(Math.max(instantMs - nowMs, 0))})`;
}
