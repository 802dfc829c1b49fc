import type { Command } from 'commander';
import { createLimiter, type Ask, type Figures } from '@sluice/core';
import { managed } from '@sluice/core/managed';
import { parseName, readWriter, findTimeline, type LimiterCore } from '@sluice/core/spi';
import { Failure, UsageError } from './failure.ts';
import { escaped, findKeys, parseKey, scan, canonicalize, type StateKey } from './keys.ts';
import { addServiceOptions, ask, type ServiceFlags } from './service.ts';
import { byOption, makePrint, withRedis, type Session } from './session.ts';
import { parseFlagDuration, printable, writeInstant, writeWait } from './text.ts';

type KeyEdit = 'block' | 'unblock' | 'reset';

interface EditFlags extends ServiceFlags {
  readonly limit?: string;
  readonly for?: string;
  readonly reason?: string;
  readonly by: string;
}

/** A key that an edit concerns. It need not be in Redis. */
interface Edited {
  readonly subject: string;
  readonly limit: string;
  readonly asks: readonly Ask[];
}

const ABOUT: Readonly<Record<KeyEdit, readonly [summary: string, description: string]>> = {
  block: [
    'deny all requests of a key for a time',
    'Denies all requests of a key under a limit for a time, in every process that shares its store.',
  ],
  unblock: ['end the block of a key', 'Ends the block of a key under a limit. What it has used stays used.'],
  reset: [
    'clear what a key has used',
    'Clears what a key has used under a limit, so that its whole limit is available. A block stays.',
  ],
};
const DONE = { block: 'blocked', unblock: 'unblocked', reset: 'reset' } as const;
const MAX_BLOCK = '366d';
/** How many names an error lists. */
const MAX_NAMED = 5;
/** The places in figures of the used units, and how long the key is blocked. */
const [USED, BLOCKED] = [2, 7] as const;

/** Adds `sluice block | unblock | reset KEY`. */
export function addKeyEdits(sluice: Command): void {
  for (const edit of ['block', 'unblock', 'reset'] as const) {
    const command = sluice
      .command(edit)
      .summary(ABOUT[edit][0])
      .description(ABOUT[edit][1])
      .argument('<key>', 'the key that the application limits, such as an address or a user; or a whole key in Redis')
      .option(
        '--limit <name>',
        'the limiter, as limiter:policy one of its policies, a managed policy, or with --service a limit of the service (default: all in which Redis has the key)',
      );
    if (edit === 'block')
      command.requiredOption('--for <duration>', 'how long, such as 10m; without a unit, milliseconds');
    const reason = ['--reason <text>', 'why; printed with the change'] as const;
    if (edit === 'block') command.requiredOption(...reason);
    else command.option(...reason);
    command.addOption(byOption());
    addServiceOptions(command, 'change it in that service, not in Redis');
    const example = edit === 'block' ? " --for 10m --reason 'a flood'" : '';
    command.addHelpText('after', `\nExample: sluice ${edit} 203.0.113.7 --limit login${example}`);
    command.action((key: string, flags: EditFlags) => run(edit, key, flags, command));
  }
}

async function run(edit: KeyEdit, key: string, flags: EditFlags, command: Command): Promise<void> {
  const durationMs = flags.for === undefined ? 0 : parseFlagDuration(flags.for, '--for');
  if (durationMs > parseFlagDuration(MAX_BLOCK, '--for')) {
    throw new UsageError(`--for must be at most ${MAX_BLOCK}, got ${JSON.stringify(flags.for)}`);
  }
  const { reason = null, by } = flags;
  const done = (subject: string, limit: string, until: number | null, atMs: number): void => {
    makePrint(command)({ edit, limit, subject, blockedUntilMs: until, by, reason }, () => {
      const wait = until === null ? '' : ` until ${writeInstant(until)} (in ${writeWait(until - atMs)})`;
      const how = until !== null && edit === 'reset' ? `; it stays blocked${wait}` : wait;
      const why = reason === null ? '' : `: ${printable(reason)}`;
      return `${DONE[edit]} ${printable(subject)} under ${printable(limit)}${how}, by ${printable(by)}${why}`;
    });
  };
  if (flags.service !== undefined) {
    const limit = requireLimit(flags);
    const why = { by, ...(reason === null ? {} : { reason }) };
    await editThroughService(flags, edit, { [limit]: key }, durationMs, why);
    const atMs = Date.now();
    done(key, limit, edit === 'block' ? atMs + durationMs : null, atMs);
    return;
  }
  await withRedis(command, true, async (session) => {
    const { store } = session;
    const { subject, limit, asks } = await findEdited(session, key, flags);
    const before = await store.perform('peek', asks);
    const has = (figures: readonly Figures[], place: number): boolean => figures.some((one) => (one[place] ?? 0) > 0);
    if (edit !== 'block' && !has(before.figures, edit === 'unblock' ? BLOCKED : USED)) {
      const why = edit === 'unblock' ? 'is not blocked' : 'has used nothing';
      throw new Failure(`${printable(subject)} ${why} under ${printable(limit)}; nothing was changed`);
    }
    const timeline = findTimeline(store);
    const event = { what: edit, limit, key: subject, by, reason };
    const written = timeline.prepare(event);
    const edits = asks.map((one, i) => ({ ...one, until: durationMs, ...(i === 0 && { event: written }) }));
    const { atMs, figures } = await store.perform(edit === 'reset' ? 'reset' : 'block', edits);
    const blockedMs = Math.max(...figures.map((one) => one[BLOCKED] ?? 0));
    done(subject, limit, blockedMs === 0 ? null : atMs + blockedMs, atMs);
    const states = { before: describeUsage(before.figures), after: describeUsage(figures) };
    await timeline.add({ ...event, ...states, atMs }, written[0]);
  });
}

/** What keys have used, and how long they are blocked. */
function describeUsage(figures: readonly Figures[]): string {
  const texts = figures.map((one) => {
    const blockedMs = one[BLOCKED] ?? 0;
    return `${String(one[USED] ?? 0)} used${blockedMs > 0 ? `, blocked for ${writeWait(blockedMs)}` : ''}`;
  });
  return texts.join('; ');
}

/** @throws (rejects) Failure if the service rejects it. */
async function editThroughService(
  flags: ServiceFlags,
  edit: KeyEdit,
  keys: object,
  durationMs: number,
  why: object,
): Promise<void> {
  const length = edit === 'block' ? { duration: durationMs } : {};
  await ask(flags, `v1/${edit}`, { keys, ...length, ...why });
  const { outcome } = (await ask(flags, 'v1/peek', { keys, cost: 0 })) as { readonly outcome?: unknown };
  if (edit !== 'reset' && (edit === 'block') !== (outcome === 'blocked')) {
    throw new Failure(`the service accepted the ${edit}, but the key is still ${String(outcome)}`);
  }
}

/**
 * The keys on which a limit decides about what an application limits: by the managed policy of this name, or by the keys
 * that the limit has in Redis, also of others.
 *
 * @throws (rejects) UsageError; Failure if the limit is unknown, or only decides on keys that join this one with
 * others.
 */
async function findEdited(session: Session, key: string, flags: EditFlags): Promise<Edited> {
  const { client, prefix, policies } = session;
  const whole = parseKey(key, prefix);
  if (whole !== undefined) return { ...whole, asks: await readAsks(session, [whole]) };
  if (flags.limit === undefined) return findEverywhere(session, key);
  const limit = requireLimit(flags);
  const isOfLimit = (one: StateKey): boolean => one.limit === limit || one.limit.startsWith(`${limit}:`);
  const found = await findKeys(client, key, prefix);
  const own = found.own.filter(isOfLimit);
  const subject = own[0]?.subject ?? canonicalize(key);
  const joined = [...new Set(found.joined.filter(isOfLimit).map((one) => one.subject))];
  if (own.length === 0 && joined.length > 0) {
    const some = joined.slice(0, MAX_NAMED).map((one) => `'${printable(one)}'`);
    const what = `${limit} does not count by ${printable(key)} only, but by keys that combine it with others`;
    throw new Failure(`${what}, such as ${some.join(', ')}; give one of these; nothing was changed`);
  }
  if (/^[A-Za-z][\w.-]*$/.test(limit) && (await policies.get(limit)) !== undefined) {
    return { subject, limit, asks: await makeManagedAsks(session, limit, subject) };
  }
  if (own.length > 0) return { subject, limit, asks: await readAsks(session, own) };
  // Like the keys of others.
  const others = await scan(client, prefix, `*}:${escaped(limit)}*`);
  const limits = new Map(others.filter((one) => isOfLimit(one) && !one.isManaged).map((one) => [one.limit, one]));
  if (limits.size === 0) {
    const known = `no key in Redis belongs to a limit ${limit}, and no managed policy has this name`;
    const instead = `before its first request, give the whole key: '${prefix}:{${subject}}:${limit}'`;
    throw new Failure(`${known}; sluice inspect KEY prints the limits of a key, and ${instead}; nothing was changed`);
  }
  const asks = await readAsks(
    session,
    [...limits.values()].map((one) => ({ ...one, subject })),
  );
  return { subject, limit, asks };
}

/**
 * All keys in Redis of what an application limits, under any limit.
 *
 * @throws (rejects) Failure if there is none.
 */
async function findEverywhere(session: Session, key: string): Promise<Edited> {
  const { own, joined } = await findKeys(session.client, key, session.prefix);
  const limit = [...new Set(own.map((one) => one.limit.replace(/@\d+$/, '')))].join(', ');
  const [first] = own; // an address may have several spellings
  if (first !== undefined) return { subject: first.subject, limit, asks: await readAsks(session, own) };
  const where = joined.length === 0 ? 'Redis has no state for it' : 'Redis has it only as part of combined keys';
  const instead = 'give --limit; sluice inspect KEY prints the limits of a key';
  throw new Failure(`${printable(key)} has no limit of its own: ${where}; ${instead}; nothing was changed`);
}

/** The asks for keys in Redis, which need not exist yet. */
function readAsks({ client }: Session, keys: readonly StateKey[]): Promise<readonly Ask[]> {
  const asks = keys.map(async ({ key, subject, limit, isManaged }): Promise<Ask> => {
    const text = (await client.get(key)) ?? 'f1'; // a block counts for every kind
    return { key: `{${subject}}:${isManaged ? ':' : ''}${limit}`, policy: readWriter(key, text).policy, cost: 0 };
  });
  return Promise.all(asks);
}

/** The asks that limiters make of the current key of a managed policy, which changes with each reset. */
async function makeManagedAsks({ store, policies }: Session, name: string, subject: string): Promise<readonly Ask[]> {
  const app = (await policies.get(name))?.apps?.[0];
  const options = { policy: managed(name), policies, store, ...(app === undefined ? {} : { app }) };
  const limiter = createLimiter(options) as object as LimiterCore;
  try {
    const counted = (await limiter.known[0]?.read(subject)) ?? [];
    return counted.map(({ suffix, policy }) => ({ key: `{${subject}${suffix}`, policy, cost: 0 }));
  } finally {
    await limiter.close();
  }
}

function requireLimit({ limit }: EditFlags): string {
  if (limit === undefined) throw new UsageError('--limit is needed with --service');
  for (const part of limit.split(':')) parseName(part, '--limit');
  return limit;
}
