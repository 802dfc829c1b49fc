import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Option, type Command } from 'commander';
import { printable } from '@sluice/simulate/terminal';
import { unifiedDiff } from './migrate/edits.ts';
import { namesPeer } from './migrate/peers.ts';
import { planOf, type Plan, type Target } from './migrate/plan.ts';
import { readProject } from './project/read-project.ts';

/** Adds `sluice migrate`. */
export function addMigrate(sluice: Command): void {
  sluice
    .command('migrate')
    .summary('show how a project moves from express-rate-limit to Sluice, and do it')
    .description(
      'Lists the limiters of a project, shows the change to Sluice as a diff, and says what will be different. Changes a file whole or not at all.',
    )
    .argument('[folder]', 'the project', '.')
    .addOption(
      new Option('--to <what>', 'drop-in: the import alone changes; sluice: the options of @sluice/express')
        .choices(['drop-in', 'sluice'])
        .default('drop-in'),
    )
    .option('--write', 'write the change')
    .action(async (folder: string, { to, write }: { to: Target; write?: true }, command: Command) => {
      const plan = planOf(await readProject(folder, namesPeer), to);
      const { json } = command.optsWithGlobals<{ json?: true }>();
      console.log(json === true ? JSON.stringify(plan) : reportOf(plan, write === true));
      if (write === true) for (const { path, after } of plan.changes) await writeFile(join(folder, path), after);
    });
}

function reportOf({ limiters, changes, left }: Plan, isWritten: boolean): string {
  if (limiters.length === 0 && changes.length === 0 && left.length === 0)
    return 'no limiter of a package that is known';
  const sections = [
    ...limiters.map(({ path, line, text, notes }) =>
      [`${path}:${String(line)}  ${text}`, ...notes.map((note) => `  - ${note}`)].join('\n'),
    ),
    ...left.map(({ path, line, why }) => `${path}:${String(line)}  left as it is: ${why}`),
    ...changes.map(({ path, before, after }) => unifiedDiff(path, before, after)),
    ...(changes.length === 0
      ? []
      : [
          isWritten ? `written: ${changes.map(({ path }) => path).join(', ')}` : 'nothing was written: --write does it',
        ]),
  ];
  return sections.map((section) => section.split('\n').map(printable).join('\n')).join('\n\n');
}
