import type { Command } from 'commander';
import { insteadOf } from '@sluice/core/inspect';
import { UsageError } from '@sluice/simulate/terminal';
import { ERROR_PAGES } from './error-pages.generated.ts';
import { globalsOf } from './session.ts';

/** Adds `sluice explain`. */
export function addExplain(sluice: Command): void {
  sluice
    .command('explain')
    .argument('<code>', 'the code of an error or a warning, such as SLUICE_STORE_TIMEOUT')
    .summary('print what the code of an error or a warning means')
    .description('Prints what the code of an error or a warning means, and what to do. Needs no Redis and no network.')
    .action((given: string, _options: unknown, command: Command) => {
      const code = codeOf(given);
      const page = ERROR_PAGES[code];
      if (page === undefined) throw unknown(given, code);
      const isJson = globalsOf(command).json === true;
      console.log(isJson ? JSON.stringify({ code, ...page }) : `${code}: ${page.when.toLowerCase()}\n\n${page.text}`);
    });
}

/** The code in whatever was copied: with brackets, in small letters, without `SLUICE_`. */
function codeOf(given: string): string {
  const name = given.toUpperCase().replaceAll(/[^A-Z_]/g, '');
  return name.startsWith('SLUICE_') ? name : `SLUICE_${name}`;
}

function unknown(given: string, code: string): UsageError {
  return new UsageError(`there is no code ${JSON.stringify(given)}; ${insteadOf(code, Object.keys(ERROR_PAGES))}`);
}
