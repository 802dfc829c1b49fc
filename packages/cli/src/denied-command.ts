import type { Command } from 'commander';
import { Failure, table } from '@sluice/simulate/terminal';
import { addServiceOptions, ask, type ServiceFlags } from './service-client.ts';
import { globalsOf, printOf } from './session.ts';
import { writtenInstant } from './written.ts';

/** The keys denied most, as the page of a process counts them. */
interface Denied {
  readonly atMs: number;
  readonly process: { readonly pid: number; readonly host: string };
  readonly denied: {
    readonly sinceMs: number;
    readonly oneIn: number;
    readonly keys: readonly {
      readonly key: string;
      readonly limiter: string;
      readonly policy: string;
      readonly count: number;
      readonly atLeast: number;
      readonly atMost: number;
    }[];
  };
}

const ADMIN = 'http://127.0.0.1:6070';

/** Adds `sluice denied`. */
export function addDenied(sluice: Command): void {
  const command = sluice
    .command('denied')
    .summary('print the keys that are denied most')
    .description(
      'Prints the keys that a process has denied most in the last five to ten minutes, by the limit that denied them, with the bounds of each count.',
    );
  addServiceOptions(command, "its admin listener, or an application's page", ADMIN).action(
    async (flags: ServiceFlags) => {
      const { process, denied, atMs } = await read(flags);
      printOf(globalsOf(command))({ atMs, process, ...denied }, () => textOf({ process, denied, atMs }));
    },
  );
}

async function read(flags: ServiceFlags): Promise<Denied> {
  const found = (await ask(flags, 'snapshot')) as Partial<Denied>;
  if (Array.isArray(found.denied?.keys)) return found as Denied;
  throw new Failure(
    'the answer is not that of a page: --service takes the admin listener of a service, or the URL of the page of an application',
  );
}

function textOf({ process: { pid, host }, denied: { sinceMs, keys }, atMs }: Denied): string {
  const of = `process ${String(pid)} on ${host}, from ${writtenInstant(sinceMs)} to ${writtenInstant(atMs)}`;
  if (keys.length === 0) return `${of}\nno key was denied`;
  const rows = keys.map(({ key, limiter, policy, count, atLeast, atMost }) => [
    ...[key, limiter, policy, String(count)],
    atLeast === atMost ? 'exact' : `${String(atLeast)} to ${String(atMost)}`,
  ]);
  return `${of}\n${table(['KEY', 'LIMITER', 'POLICY', 'DENIALS', 'BOUNDS'], rows)}`;
}
