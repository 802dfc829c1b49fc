import type { Command } from 'commander';
import { connectTo } from '@sluice/old-core/spi';
import { mergeDenied, onePerProcess, RedisPages, type SharedKey, type SharedPages } from '@sluice/page/spi';
import { Failure, printable, table } from '@sluice/simulate/terminal';
import { addServiceOptions, ask, type ServiceFlags } from './service-client.ts';
import { globalsOf, printOf, withSession, type Print } from './session.ts';
import { writtenInstant, writtenSpan } from './written.ts';

/** The keys denied most, as the page of a process counts them. */
interface Denied {
  readonly atMs: number;
  readonly process: { readonly pid: number; readonly host: string };
  readonly denied: { readonly sinceMs: number; readonly oneIn: number; readonly keys: readonly Counts[] };
}

type Counts = Pick<SharedKey, 'key' | 'limiter' | 'policy' | 'count' | 'atLeast' | 'atMost'>;

const ADMIN = 'http://127.0.0.1:6070';
const MOST_PRINTED = 50;

/** Adds `sluice denied`. */
export function addDenied(sluice: Command): void {
  const command = sluice
    .command('denied')
    .addHelpText(
      'after',
      '\nExamples: sluice denied --service https://shop.example/limits/\n          sluice denied --redis redis://127.0.0.1:6379',
    )
    .summary('print the keys that are denied most')
    .description(
      'Prints the keys that are denied most in the last five to ten minutes, by the limit that denied them, with the bounds of each count: ' +
        'of one process, by its admin listener or its page (--service); or with --redis of all processes that share their counts there, ' +
        'which are those of the service, and pages with share: true.',
    );
  addServiceOptions(
    command,
    `its admin listener, or an application's page (default: ${ADMIN}, unless --redis or SLUICE_REDIS is given)`,
  ).action(async (flags: ServiceFlags) => {
    const isInRedis = flags.service === undefined && command.getOptionValueSourceWithGlobals('redis') !== 'default';
    if (!isInRedis) {
      await printOne(printOf(globalsOf(command)), { ...flags, service: flags.service ?? ADMIN });
      return;
    }
    await withSession(command, async ({ connection, prefix, print }) => {
      const pages = new RedisPages(connectTo(connection, { prefix }, 'sluice denied'));
      printShared(print, prefix, await pages.read());
    });
  });
}

async function printOne(print: Print, flags: ServiceFlags): Promise<void> {
  const { process, denied, atMs } = await askPage(flags);
  print({ atMs, process, ...denied }, () => {
    const of = `process ${String(process.pid)} on ${process.host}, from ${writtenInstant(denied.sinceMs)} to ${writtenInstant(atMs)}`;
    return `${of}\n${keysText(denied.keys)}`;
  });
}

async function askPage(flags: ServiceFlags): Promise<Denied> {
  const found = (await ask(flags, 'snapshot')) as Partial<Denied>;
  if (Array.isArray(found.denied?.keys)) return found as Denied;
  throw new Failure(
    'the answer is not that of a page: --service takes the admin listener of a service, or the URL of the page of an application',
  );
}

/** @throws Failure where no process shares its counts. */
function printShared(print: Print, prefix: string, { pages, unreadable }: SharedPages): void {
  if (pages.length === 0) throw noneIn(prefix, unreadable);
  const records = onePerProcess(pages.map(({ record }) => record));
  const keys = mergeDenied(records)
    .slice(0, MOST_PRINTED)
    .map(({ key, limiter, policy, count, atLeast, atMost }) => ({ key, limiter, policy, count, atLeast, atMost }));
  const processes = pages
    .filter(({ record }) => records.includes(record))
    .map(({ ageMs, record: { process, sinceMs, oneIn } }) => ({
      ...process,
      ...{ countsSinceMs: sinceMs, oneIn, ageMs },
    }));
  print({ processes, unreadable, keys }, () => {
    const lines = processes.map(
      ({ pid, host, countsSinceMs, ageMs }) =>
        `process ${String(pid)} on ${printable(host)}, from ${writtenInstant(countsSinceMs)} to ${writtenSpan(ageMs)} ago`,
    );
    return [...lines, ...unreadText(unreadable), keysText(keys)].join('\n');
  });
}

function unreadText(records: number): readonly string[] {
  if (records === 0) return [];
  return [
    `${String(records)} record${records === 1 ? '' : 's'} that this version cannot read ${records === 1 ? 'is' : 'are'} left out`,
  ];
}

function noneIn(prefix: string, unreadable: number): Failure {
  const unread = unreadText(unreadable)
    .map((text) => ` (${text})`)
    .join('');
  return new Failure(
    `no process shares its counts under the prefix ${prefix} in this Redis${unread}: a page does with page({ token, share: true }) once its limiters have decided, and the service does by itself; or ask one process with --service URL`,
  );
}

function keysText(keys: readonly Counts[]): string {
  if (keys.length === 0) return 'no key was denied';
  const rows = keys.map(({ key, limiter, policy, count, atLeast, atMost }) => [
    ...[key, limiter, policy, String(count)],
    atLeast === atMost ? 'exact' : `${String(atLeast)} to ${String(atMost)}`,
  ]);
  return table(['KEY', 'LIMITER', 'POLICY', 'DENIALS', 'BOUNDS'], rows);
}
