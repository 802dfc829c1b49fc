import type { Command } from 'commander';
import { writeDuration } from '@sluice/core/spi';
import { mergeDenied, readShared, type SharedKey } from '@sluice/page/spi';
import { Failure } from './failure.ts';
import { addServiceOptions, ask, type ServiceFlags } from './service.ts';
import { makePrint, withRedis } from './session.ts';
import { printable, table, writeInstant, writeWait } from './text.ts';

type Denied = Omit<SharedKey, 'limit'>;

export const ADMIN = 'http://127.0.0.1:6070';
export const TAKES: string = `--service takes the admin listener of a service, such as ${ADMIN}, or the URL of an application's page`;
const MAX_PRINTED = 50;

/** Adds `sluice denied`. */
export function addDenied(sluice: Command): void {
  const command = sluice
    .command('denied')
    .summary('print the keys that are denied most')
    .description(
      'Prints the keys that are denied most, with the limit that denied them: from the page of an application or service (--service), or with --redis, from all processes that share their counts there.',
    );
  addServiceOptions(
    command,
    `its admin listener, or an application's page (default: this one, unless --redis or SLUICE_REDIS is given)`,
    ADMIN,
  )
    .addHelpText('after', '\nExample: sluice denied --redis redis://127.0.0.1:6379')
    .action(async (flags: ServiceFlags) => {
      const isInRedis = flags.service === undefined && command.getOptionValueSourceWithGlobals('redis') !== 'default';
      await (isInRedis ? printShared(command) : printPage(command, { ...flags, service: flags.service ?? ADMIN }));
    });
}

async function printPage(command: Command, flags: ServiceFlags): Promise<void> {
  const { atMs, denied } = (await ask(flags, 'snapshot', undefined, TAKES)) as {
    readonly atMs: number;
    readonly denied?: { readonly sinceMs: number; readonly keys?: readonly Denied[] };
  };
  if (!Array.isArray(denied?.keys)) {
    throw new Failure(`the answer is not that of a page: ${TAKES}`);
  }
  const { sinceMs, keys } = denied;
  const span = `from ${writeInstant(sinceMs)} to ${writeInstant(atMs)}`;
  makePrint(command)({ atMs, sinceMs, keys }, () => `${span}\n${formatKeys(keys)}`);
}

/** @throws Failure if no process shares its counts. */
async function printShared(command: Command): Promise<void> {
  await withRedis(command, false, async ({ connection, prefix }) => {
    const records = await readShared(connection);
    if (records.length === 0) {
      const how = 'a page shares them with page({ token, share: true }), and the service always does';
      throw new Failure(
        `no process shares its counts under the prefix ${prefix} in this Redis: ${how}; or ask one process with --service URL`,
      );
    }
    const processes = records.map(({ pid, host, sinceMs, ageMs }) => ({ pid, host, sinceMs, ageMs }));
    const keys = mergeDenied(records).slice(0, MAX_PRINTED);
    makePrint(command)({ processes, keys }, () => {
      const lines = processes.map(({ pid, host, sinceMs, ageMs }) => {
        return `process ${String(pid)} on ${printable(host)}, from ${writeInstant(sinceMs)} to ${writeWait(ageMs)} ago`;
      });
      return [...lines, formatKeys(keys)].join('\n');
    });
  });
}

function formatKeys(keys: readonly Denied[]): string {
  if (keys.length === 0) return 'no key was denied';
  const rows = keys.map(({ key, limiter, policy, count, denials: [last] }) => [
    ...[key, limiter, policy, String(count)],
    last === undefined ? '-' : `${writeInstant(last.atMs)}: ${denialText(last)}`,
  ]);
  return table(['KEY', 'LIMITER', 'POLICY', 'DENIALS', 'LAST DENIED'], rows);
}

function denialText({ count, isBlocked, used, limit, windowMs }: SharedKey['denials'][number]): string {
  const why = isBlocked ? 'blocked' : `${String(used)} of ${String(limit)} in ${writeDuration(windowMs)}`;
  return `${count === 1 ? 'once' : `${String(count)} times`}, ${why}`;
}
