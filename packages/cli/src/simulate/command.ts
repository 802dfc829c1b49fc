import type { Command } from 'commander';
import { readGlobals, repeated } from '../session.ts';
import { FORMATS } from './formats/choose.ts';
import { KEY_HELP } from './key.ts';
import { simulate, type SimulateFlags } from './simulate.ts';

/** Adds `sluice simulate`. */
export function addSimulate(sluice: Command): void {
  const command = sluice
    .command('simulate')
    .summary('replay access logs through limits')
    .description(
      'Replays access logs through candidate limits, with the code of real limiters, and prints which requests and clients they would have denied. Without a candidate, it prints the peaks of the clients and limits that fit them.',
    )
    .argument('<log...>', 'access logs, plain or gzip, merged by time; - is the standard input')
    .addOption(
      repeated(
        '--policy <text>',
        "a candidate, as in 'fixedWindow --limit 100 --window 1m'; ' + ' joins limits that are decided together, each with --key; may be repeated",
      ),
    )
    .option('--key <parts>', `what is a client: ${KEY_HELP}`, 'ip')
    .option('--format <format>', `${FORMATS}, or a format string of nginx or Apache (default: detected)`)
    .addOption(repeated('--route <pattern>', "a route, for --key route: '/users/:id' or '/files/*'; may be repeated"))
    .option(
      '--max-clients <share>',
      'fail if a candidate denies a larger share of the clients; suggest limits for that share (default: 0.1%)',
    )
    .option('--html <file>', 'write the report as one HTML file, with a slider over the limit')
    .option('--max-keys <number>', 'how many keys each candidate and the report remember', '500000')
    .addHelpText('after', '\nExit code 1: a candidate exceeds --max-clients.');
  command.action((logs: readonly string[], flags: SimulateFlags) =>
    simulate(logs, flags, readGlobals(command).json === true),
  );
}
