import { Command, CommanderError, Option } from 'commander';
import type { Policy } from '@sluice/core';
import { UsageError } from './failure.ts';
import { policyKinds, policyOf, policyOptions } from './policy-kinds.ts';

/** Adds the options of all kinds of policies; which of them go together, the kind's own function knows. */
export function addPolicyOptions(command: Command): Command {
  for (const [name, [takes, says]] of Object.entries(policyOptions)) {
    const kinds = Object.keys(policyKinds).filter((kind) => policyKinds[kind]?.options.includes(name));
    command.addOption(new Option(`--${flagOf(name)} <${takes}>`, `${kinds.join(', ')}: ${says}`).argParser(valueOf));
  }
  return command;
}

/** The policy that such options describe. */
export function policyFrom(kind: string, options: Readonly<Record<string, unknown>>): Policy {
  const own = Object.entries(options).filter(([name]) => name === 'name' || Object.hasOwn(policyOptions, name));
  return policyOf(kind, Object.fromEntries(own));
}

/**
 * The policy in a text such as `fixedWindow --limit 100 --window 1m --name burst`.
 *
 * @throws UsageError for what is none.
 */
export function policyFromText(text: string): Policy {
  const command = addPolicyOptions(new Command('--policy'))
    .exitOverride()
    .helpOption(false)
    .configureOutput({ writeErr: () => undefined })
    .argument('<kind>')
    .option('--name <name>');
  try {
    command.parse(
      text.split(/\s+/).filter((word) => word !== ''),
      { from: 'user' },
    );
  } catch (error) {
    if (error instanceof CommanderError) {
      throw new UsageError(`--policy ${JSON.stringify(text)}: ${error.message.replace(/^error: /, '')}`);
    }
    throw error;
  }
  return policyFrom(command.args[0] as string, command.opts());
}

function flagOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Numbers as numbers; the rest is for the policy to judge. */
function valueOf(text: string): string | number {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
