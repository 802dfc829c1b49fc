import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { Failure, UsageError, printable } from '@sluice/simulate/terminal';
import { diagnose, type Diagnosis } from './doctor/diagnose.ts';
import type { Finding } from './doctor/finding.ts';
import { readDeployment } from './project/deployment.ts';
import { readProject } from './project/read-project.ts';
import { globalsOf } from './session.ts';

/** Adds `sluice doctor`. */
export function addDoctor(sluice: Command): void {
  sluice
    .command('doctor')
    .summary('find limits of a project that do not hold')
    .description(
      'Reads a project, without running it, and lists limits that do not hold: made per request, counted per process, or escaped by a key.',
    )
    .argument('[folder]', 'the project', '.')
    .addHelpText('after', '\nExit code 1: there is a mistake. What is only to check is exit code 0.')
    .action(async (folder: string, _options: unknown, command: Command) => {
      const isFolder = await stat(folder)
        .then((found) => found.isDirectory())
        .catch(() => false);
      if (!isFolder) throw new UsageError(`${JSON.stringify(folder)} is no folder`);
      const diagnosis = diagnose(await readProject(folder), await readDeployment(folder));
      console.log(globalsOf(command).json === true ? JSON.stringify(diagnosis) : reportOf(diagnosis));
      const { length } = diagnosis.mistakes;
      if (length > 0) throw new Failure(`${String(length)} ${length === 1 ? 'mistake' : 'mistakes'}`);
    });
}

function reportOf({ mistakes, toCheck, notRead, limiters }: Diagnosis): string {
  const sections = [
    ...mistakes.map(written),
    ...toCheck.map((finding) => `to check: ${written(finding)}`),
    ...notRead.map(({ path, why }) => `not understood: ${path}: ${why}`),
    `${String(limiters)} ${limiters === 1 ? 'limiter' : 'limiters'}, ${String(mistakes.length)} certain to be wrong, ${String(toCheck.length)} to check`,
  ];
  return sections.map((section) => section.split('\n').map(printable).join('\n')).join('\n\n');
}

function written({ path, line, rule, text, instead }: Finding): string {
  return `${path}:${String(line)}  ${rule}\n  ${text}\n  instead: ${instead}`;
}
