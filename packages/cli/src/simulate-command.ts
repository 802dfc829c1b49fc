import { Option, type Command } from 'commander';
import { collect } from './collect.ts';
import { UsageError } from '@sluice/simulate/terminal';
import { globalsOf } from './session.ts';
import { formatNames, runSimulation, type SimulateFlags } from '@sluice/simulate';

/** Adds `sluice simulate`. */
export function addSimulate(sluice: Command): void {
  const simulate = sluice
    .command('simulate')
    .summary('replay access logs through limits: whom they would have denied, and which limit to choose')
    .description(
      'Replays access logs through candidates of limits, in virtual time and by the same code as limiters, and prints which requests and clients they would have denied. Without a candidate it prints the peaks of the clients and limits that fit them.',
    )
    .argument('<log...>', 'access logs, plain or gzip, merged by time; - is the standard input')
    .addOption(
      new Option(
        '--policy <text>',
        "a candidate, as in 'fixedWindow --limit 100 --window 1m'; ' + ' joins limits that are decided together, each with --key; may be repeated",
      ).argParser(collect),
    )
    .option(
      '--key <parts>',
      'what is a client: ip, ip/56, route, path, method, user, user-agent, all, header:NAME, field:NAME; several with commas',
      'ip',
    )
    .option(
      '--format <format>',
      `${formatNames.join(', ')}, or a format string of nginx or Apache (default: the first lines tell)`,
    )
    .addOption(
      new Option(
        '--route <pattern>',
        "a route, for --key route: '/users/:id' or '/files/*'; may be repeated; all other paths are one route",
      ).argParser(collect),
    )
    .option(
      '--max-clients <share>',
      'fail if a candidate denies more of the clients, as in 0.1%; suggest limits for that loss (default: 0.1%)',
    )
    .option('--html <file>', 'write the report as one HTML file, with a slider over the limit')
    .option('--decisions <file>', 'write every decision, a JSON object a line')
    .option(
      '--max-keys <number>',
      'keys that are held at once; of more, the ones used longest ago are forgotten and counted',
      '200000',
    )
    .option('--resort <duration>', 'how far lines may be out of order', '60s')
    .addHelpText('after', '\nExit code 1: a candidate exceeds --max-clients.')
    .action(async (logs: readonly string[], flags: SimulateFlags, command: Command) => {
      await runSimulation(logs, flags, globalsOf(command).json === true);
    });
  for (const option of simulate.options) if (option.parseArg === undefined) takeOnce(simulate, option);
}

/** An option that is given again would silently take the place of the first: some have lists, some may be repeated. */
function takeOnce(command: Command, option: Option): void {
  let first: string | undefined;
  command.on(`option:${option.name()}`, (value: string | null) => {
    if (first !== undefined && value !== null)
      throw new UsageError(
        `${option.long ?? ''} is given twice, as ${JSON.stringify(first)} and ${JSON.stringify(value)}; write it once${option.long === '--key' ? ': several parts of a key have commas, as in ip,route' : ''}`,
      );
    first = value ?? undefined;
  });
}
