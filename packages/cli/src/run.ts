import { readFileSync } from 'node:fs';
import { Command, CommanderError, Help, Option } from 'commander';
import { addDenied } from './denied.ts';
import { addKeyEdits } from './edit.ts';
import { addEvents } from './events.ts';
import { EXIT, getExitCode, printError } from './failure.ts';
import { addInspect } from './inspect.ts';
import { addPolicy } from './policy.ts';
import { addServe } from './serve.ts';
import { readPrefix } from './session.ts';
import { addSimulate } from './simulate/command.ts';

const ABOUT_ALL = `
Exit codes: 0 done, 1 failed, 2 the command line or a file is wrong.
SLUICE_DEBUG=1 prints where an error came from.`;
const ABOUT_SHARED = '\nEvery command has --redis <url>, --prefix <text> and --json: see sluice --help.';

/** Runs the command line, prints the result or the error, and resolves to the exit code. Never rejects. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await program().parseAsync(args, { from: 'user' });
    return EXIT.done;
  } catch (error) {
    // Commander has printed the error or the help already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    printError(error);
    return getExitCode(error);
  }
}

function program(): Command {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(manifest) as { readonly version: string };
  const sluice = new Command('sluice')
    .description(
      'Serves limits to gateways and programs, replays logs through limits, changes managed policies, and prints, blocks and resets keys.',
    )
    .exitOverride()
    .configureHelp({
      optionDescription: (option) => new Help().optionDescription(option) + (option.mandatory ? ' (required)' : ''),
    })
    .configureOutput({
      outputError: (message, write) => {
        const explained = message.replace(/unknown command '[^']*'/, '$&; --help lists the commands');
        write(explained.replace(/^error: /, 'sluice: '));
      },
    })
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addOption(
      new Option('--redis <url>', 'the URL of Redis; rediss: for TLS')
        .env('SLUICE_REDIS')
        .default('redis://127.0.0.1:6379', '127.0.0.1:6379'),
    )
    .addOption(
      new Option('--prefix <text>', 'the prefix of the keys, as in redisStore(url, { prefix })')
        .env('SLUICE_PREFIX')
        .argParser(readPrefix)
        .default('sluice'),
    )
    .option('--json', 'print JSON, for programs')
    .addHelpText('afterAll', ({ command }) => (command.parent === null ? ABOUT_ALL : ABOUT_SHARED));
  for (const add of [addPolicy, addInspect, addKeyEdits, addDenied, addEvents, addServe, addSimulate]) add(sluice);
  return sluice;
}
