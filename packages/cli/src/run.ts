import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { parsePrefix } from '@sluice/old-core/spi';
import { addDenied } from './denied-command.ts';
import { addInspect } from './inspect-command.ts';
import { addKeyEdits } from './key-commands.ts';
import { addPolicy } from './policy-commands.ts';
import { addServe } from './serve-command.ts';
import { addSimulate } from './simulate-command.ts';
import { version } from './version.ts';
import { EXIT, exitCodeOf, printError } from '@sluice/simulate/terminal';

/** Runs the command line, prints the result or the error, and resolves to the exit code. Never rejects. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await program().parseAsync(args, { from: 'user' });
    return EXIT.done;
  } catch (error) {
    // Commander has printed the error or the help already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    printError(error);
    return exitCodeOf(error);
  }
}

function program(): Command {
  const sluice = new Command('sluice')
    .description(
      'Serves limits to gateways and programs, replays logs through limits, changes managed policies, and prints, blocks and resets keys.',
    )
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (message, write) => {
        write(
          message.replace(/^error: /, 'sluice: ').replace(/unknown command '[^']*'/, '$&; --help lists the commands'),
        );
      },
    })
    .version(version(), '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addOption(
      new Option('--redis <url>', 'the URL of Redis; rediss: for TLS')
        .env('SLUICE_REDIS')
        .default('redis://127.0.0.1:6379'),
    )
    .addOption(
      new Option('--prefix <text>', 'the prefix of the keys, as in redisStore(url, { prefix })')
        .env('SLUICE_PREFIX')
        .default('sluice')
        .argParser(prefixOf),
    )
    .option('--json', 'print JSON, for programs')
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 the command line or a file is wrong.\nSLUICE_DEBUG=1 prints where an error came from.',
    );
  addPolicy(sluice);
  addInspect(sluice);
  addKeyEdits(sluice);
  addDenied(sluice);
  addServe(sluice);
  addSimulate(sluice);
  return sluice;
}

/** @throws InvalidArgumentError for a text that cannot be a prefix of keys. */
function prefixOf(text: string): string {
  try {
    return parsePrefix(text, '--prefix shop');
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}
