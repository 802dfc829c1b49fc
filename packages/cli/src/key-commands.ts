import { userInfo } from 'node:os';
import { Option, type Command } from 'commander';
import { parseDuration, writtenDuration } from '@sluice/old-core/spi';
import { Failure, policyFromText, printable, UsageError } from '@sluice/simulate/terminal';
import { collect } from './collect.ts';
import { keysOfLimit, type KeyEdit, type LimitKey } from './limit-keys.ts';
import { editKey } from './scripts.generated.ts';
import { addServiceOptions, editThroughService, type ServiceFlags } from './service-client.ts';
import type { PageChange } from '@sluice/page/spi';
import { tellPages } from './tell-pages.ts';
import { globalsOf, printOf, withSession, type Print, type Session } from './session.ts';
import { writtenInstant, writtenSpan } from './written.ts';

/** The options of the commands that edit a key. */
interface EditFlags extends ServiceFlags {
  readonly limit: string;
  readonly for?: string;
  readonly reason?: string;
  readonly by?: string;
  readonly policy?: readonly string[];
}

/** A key after an edit. */
interface EditedKey extends Pick<LimitKey, 'key' | 'subject' | 'of'> {
  readonly blockedUntilMs: number | null;
}

const LONGEST_BLOCK = '366d';

const ABOUT: Readonly<Record<KeyEdit, Readonly<Record<'summary' | 'description' | 'example', string>>>> = {
  block: {
    summary: 'deny all requests of a key for a time',
    description: 'Denies all requests of a key under a limit for a time, in every process that shares its store.',
    example: "sluice block 203.0.113.7 --limit login --for 10m --reason 'a flood'",
  },
  unblock: {
    summary: 'end the block of a key',
    description: 'Ends the block of a key under a limit, and forgets its counted denials. What it has used stays used.',
    example: 'sluice unblock 203.0.113.7 --limit login',
  },
  reset: {
    summary: 'forget what a key has used',
    description: 'Forgets what a key has used under a limit, so that it has its whole limit. A block stays.',
    example: 'sluice reset 203.0.113.7 --limit login',
  },
};

/** Adds `sluice block | unblock | reset KEY`. */
export function addKeyEdits(sluice: Command): void {
  for (const edit of ['block', 'unblock', 'reset'] as const) {
    const command = sluice
      .command(edit)
      .summary(ABOUT[edit].summary)
      .description(ABOUT[edit].description)
      .argument('<key>', 'the key that the application limits, such as an address or a user; or a whole key in Redis')
      .requiredOption(
        '--limit <name>',
        'the limiter, one of its policies, a managed policy, or a limit of the service',
      );
    if (edit === 'block') {
      command
        .requiredOption('--for <duration>', 'how long, such as 10m')
        .requiredOption('--reason <text>', 'why, which is printed with the change');
    } else {
      command.option('--reason <text>', 'why, which is printed with the change');
    }
    command
      .option('--by <name>', 'who changes it (default: the user of this process)')
      .addOption(
        new Option(
          '--policy <text>',
          "a policy of the limit, as in 'fixedWindow --limit 100 --window 1m', where no key of it is in Redis; may be repeated",
        ).argParser(collect),
      );
    addServiceOptions(command, 'changes it there, and not in Redis');
    command.addHelpText('after', `\nExample: ${ABOUT[edit].example}`);
    command.action(async (key: string, flags: EditFlags) => run(edit, key, flags, command));
  }
}

async function run(edit: KeyEdit, key: string, flags: EditFlags, command: Command): Promise<void> {
  const durationMs = flags.for === undefined ? 0 : blockLength(flags.for);
  const policies = (flags.policy ?? []).map(policyFromText);
  const { limit } = flags;
  if (flags.service !== undefined) {
    await editThroughService(flags, { edit, key, limit, durationMs });
    printOf(globalsOf(command))({ edit, limit, keys: [{ subject: key }], ...auditOf(flags) }, () =>
      line(edit, { subject: key, of: limit }, durationMs === 0 ? '' : ` for ${writtenDuration(durationMs)}`, flags),
    );
    return;
  }
  await withSession(
    command,
    async (session) => {
      const keys = await keysOfLimit(session, { key, limit, policies });
      const done = await edited(session, edit, keys, durationMs);
      printEdits(session.print, edit, flags, done);
      await tellPages(session, changesOf(done, edit, flags, durationMs));
    },
    { writes: true },
  );
}

function blockLength(text: string): number {
  const durationMs = parseDuration(text, '--for');
  if (durationMs <= parseDuration(LONGEST_BLOCK, '--for')) return durationMs;
  throw new UsageError(`--for must be at most ${LONGEST_BLOCK}, got ${JSON.stringify(text)}`);
}

/** Edits the keys, and returns those that were edited, as Redis has them now. */
async function edited(
  { connection }: Session,
  edit: KeyEdit,
  keys: readonly LimitKey[],
  durationMs: number,
): Promise<readonly (EditedKey & { readonly atMs: number })[]> {
  const done: (EditedKey & { readonly atMs: number })[] = [];
  for (const { key, subject, of, details } of keys) {
    const args = edit === 'block' ? [edit, String(durationMs)] : [edit];
    const reply = await connection.eval(editKey.source, 1 + details.length, key, ...details, ...args);
    const [isThere, beforeMs, untilMs, atMs] = (reply as readonly unknown[]).map(Number) as [
      number,
      number,
      number,
      number,
    ];
    const isEdited = edit === 'block' || (edit === 'unblock' ? beforeMs > 0 : isThere === 1);
    if (isEdited) done.push({ key, subject, of, blockedUntilMs: untilMs === 0 ? null : untilMs, atMs });
  }
  if (done.length > 0) return done;
  const [first] = keys;
  throw new Failure(
    `${printable(first?.subject ?? '')} ${edit === 'unblock' ? 'is not blocked' : 'has used nothing'} under ${first?.of ?? ''}; nothing was changed`,
  );
}

function printEdits(
  print: Print,
  edit: KeyEdit,
  flags: EditFlags,
  keys: readonly (EditedKey & { readonly atMs: number })[],
): void {
  const shown = keys.map(({ key, subject, of, blockedUntilMs }) => ({ key, subject, of, blockedUntilMs }));
  print({ edit, limit: flags.limit, keys: shown, ...auditOf(flags) }, () => {
    // A key under several kinds of the same policies is one line: the last.
    const lines = new Map<string, string>();
    for (const { subject, of, blockedUntilMs, atMs } of keys) {
      const until =
        blockedUntilMs === null || edit === 'unblock'
          ? ''
          : `${edit === 'reset' ? '; it stays blocked' : ''} until ${writtenInstant(blockedUntilMs)} (in ${writtenSpan(blockedUntilMs - atMs)})`;
      lines.set(`${subject} ${of}`, line(edit, { subject, of }, until, flags));
    }
    return [...lines.values()].join('\n');
  });
}

/** As pages show them. A key under several kinds of the same policies is one. */
function changesOf(
  keys: readonly (EditedKey & { readonly atMs: number })[],
  edit: KeyEdit,
  flags: EditFlags,
  durationMs: number,
): readonly PageChange[] {
  const { by, reason } = auditOf(flags);
  const detail = edit === 'block' ? `for ${writtenDuration(durationMs)}` : '';
  const changes = keys.map(({ subject, of, atMs }): PageChange => {
    const target = `${subject} of ${of}`;
    return { atMs, by, action: edit, target, detail, reason: reason ?? 'no reason given' };
  });
  return [...new Map(changes.map((change) => [change.target, change])).values()];
}

const DONE: Readonly<Record<KeyEdit, string>> = { block: 'blocked', unblock: 'unblocked', reset: 'reset' };

function line(
  edit: KeyEdit,
  { subject, of }: { readonly subject: string; readonly of: string },
  how: string,
  flags: EditFlags,
): string {
  const { by, reason } = auditOf(flags);
  return `${DONE[edit]} ${printable(subject)} under ${of}${how}, by ${printable(by)}${reason === null ? '' : `: ${printable(reason)}`}`;
}

/** Who changes it, and why. */
function auditOf({ by, reason }: EditFlags): { readonly by: string; readonly reason: string | null } {
  return { by: by ?? userName(), reason: reason ?? null };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown'; // a user without an entry, as in many containers
  }
}
