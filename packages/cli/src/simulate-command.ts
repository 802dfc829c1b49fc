import { Option, type Command } from 'commander';
import { collect } from './collect.ts';
import { UsageError } from '@sluice/simulate/terminal';
import { ManagedPolicies } from './managed-policies.ts';
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
        "a candidate, as in 'fixedWindow --limit 100 --window 1m'; ' + ' joins limits that are decided together; 'managed NAME' is one in Redis; each takes --key, --cost, --escalate; may be repeated",
      ).argParser(collect),
    )
    .option('--limits <file>', "the service's file: forward_auth and limits of it are candidates")
    .addOption(
      new Option(
        '--descriptor <entries>',
        "with --limits, a descriptor that Envoy sends, as in 'remote_address=ip'; may be repeated",
      ).argParser(collect),
    )
    .option(
      '--key <parts>',
      'what is a client: ip, ip/56, route, path, method, user, user-agent, all, header:NAME, field:NAME; several with commas',
      'ip',
    )
    .option('--cost <cost>', "what a request costs: a number, bytes, bytes/1024, or by route, as in '/search=5,1'", '1')
    .option(
      '--format <format>',
      `${formatNames.join(', ')}, or a format string of nginx, Apache or Envoy (default: the first lines tell)`,
    )
    .option(
      '--routes <file>',
      'templates of routes, one a line; a file that does not exist is written, with those learnt from the log',
    )
    .option(
      '--max-clients <share>',
      'fail if a candidate denies more of the clients, as in 0.1%; suggest limits for that loss (default: 0.1%)',
    )
    .option('--max-denied <share>', 'fail if a candidate denies more of the requests, as in 0.05%')
    .addOption(
      new Option(
        '--check <log>',
        'a second log, on which candidates and suggested limits are tried too; may be repeated',
      ).argParser(collect),
    )
    .option('--retry', 'also play clients that come back after Retry-After')
    .option('--html <file>', 'write the report as one HTML file, with a slider over the limit')
    .option('--decisions <file>', 'write every decision, a JSON object a line')
    .option(
      '--max-keys <number>',
      'keys that are held at once; of more, the ones used longest ago are forgotten and counted',
      '200000',
    )
    .option('--resort <duration>', 'how far lines may be out of order', '60s')
    .addHelpText(
      'after',
      '\nExit code 1: a candidate exceeds --max-clients or --max-denied, on the log or on that of --check.',
    )
    .action(async (logs: readonly string[], flags: SimulateFlags, command: Command) => {
      const globals = globalsOf(command);
      const policies = new ManagedPolicies(globals);
      await runSimulation(logs, flags, { json: globals.json === true, managed: async (name) => policies.get(name) });
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
