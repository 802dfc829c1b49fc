import { Option, type Command } from 'commander';
import { parsePolicy, PolicyError, type Policy } from '@sluice/core';
import { MAKERS } from '@sluice/core/spi';
import { UsageError } from './failure.ts';

const KINDS = Object.keys(MAKERS);
export const POLICY_KINDS: string = KINDS.join(', ');
export const POLICY_EXAMPLE = "'fixedWindow --limit 100 --window 1m'";

/** The options of all kinds of policies. The function of each kind checks which ones it has. */
const OPTIONS: readonly (readonly [flags: string, description: string])[] = [
  ['--limit <units>', 'units per window, or concurrent slots'],
  ['--window <duration>', 'length of the window, such as 1m; units: ms, s, m, h, d'],
  ['--align <how>', 'fixedWindow: first-hit or clock'],
  ['--precision <duration>', 'slidingWindow: the length of a block'],
  ['--capacity <units>', 'tokenBucket: what it holds'],
  ['--refill <units>', 'tokenBucket: units added per --every'],
  ['--every <duration>', 'tokenBucket: the time in which they are added'],
  ['--mode <how>', 'tokenBucket: continuous or interval'],
  ['--overdraft <units>', 'tokenBucket: how far below zero it may go'],
  ['--max-delay <duration>', 'leakyBucket: how long a request may wait'],
  ['--ttl <duration>', 'concurrency: when a lost slot becomes free'],
  ['--block-for <duration>', 'how long a denial blocks the key'],
];
const OPTION_NAMES = OPTIONS.map(([flags]) => new Option(flags).attributeName());

/** Adds the options of policies to a command. */
export function addPolicyOptions(command: Command): Command {
  for (const [flags, description] of OPTIONS) command.option(flags, description);
  return command;
}

/**
 * The policy that command-line options describe.
 *
 * @throws UsageError for an unknown kind; PolicyError.
 */
export function parsePolicyFlags(kind: string, flags: Readonly<Record<string, unknown>>): Policy {
  const given = Object.entries(flags).filter(([name]) => OPTION_NAMES.includes(name));
  return makePolicy(kind, given as [string, string][]);
}

/** A policy in a text, and further options in the text. */
export interface PolicyText {
  readonly policy: Policy;
  readonly others: Readonly<Record<string, string>>;
}

/**
 * Reads a policy such as `fixedWindow --limit 100 --window 1m --name burst`.
 *
 * @param others - Names of options that do not belong to the policy.
 * @throws UsageError for any other text.
 */
export function readPolicyText(text: string, others: readonly string[] = []): PolicyText {
  const [kind = '', ...words] = text.trim().split(/[\s=]+/);
  const options = new Map<string, string>();
  const fail = (what: string): never => {
    throw new UsageError(
      `--policy ${JSON.stringify(text)}: ${what}; write a kind and its options, as ${POLICY_EXAMPLE}`,
    );
  };
  for (let i = 0; i < words.length; i += 2) {
    const [flag = '', value] = words.slice(i, i + 2);
    const name = /^--[a-z-]+$/.test(flag)
      ? new Option(`${flag} <value>`).attributeName()
      : fail(`${flag} is no option`);
    if (value === undefined) fail(`${flag} has no value`);
    else if (options.has(name)) fail(`${flag} is given twice`);
    else options.set(name, value);
  }
  const own = [...options].filter(([name]) => !others.includes(name));
  try {
    return { policy: makePolicy(kind, own), others: Object.fromEntries(options) };
  } catch (error) {
    if (!(error instanceof PolicyError || error instanceof UsageError)) throw error;
    throw new UsageError(`--policy ${JSON.stringify(text)}: ${error.message}`, { cause: error });
  }
}

function makePolicy(kind: string, given: readonly (readonly [string, string])[]): Policy {
  if (!KINDS.includes(kind)) throw new UsageError(`there is no policy ${JSON.stringify(kind)}; known: ${POLICY_KINDS}`);
  const options = given.map(([name, text]) => [name, /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text]);
  return parsePolicy({ algorithm: kind, ...Object.fromEntries(options) });
}
