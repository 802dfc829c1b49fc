import { Command, CommanderError, Option } from 'commander';
import type { Policy } from '@sluice/old-core';
import { policyFactories } from '@sluice/old-core/inspect';
import { UsageError } from './failure.ts';
import { policyOf } from './policy-kinds.ts';

/** How a policy is written in a text. */
const FORM = "write a kind and its options, as in 'fixedWindow --limit 100 --window 1m'";

/** The options of all kinds of policies: the value of each, and its meaning by kind. */
const policyOptions = new Map<string, { readonly placeholder: string; readonly kindsByText: Map<string, string[]> }>();
for (const { name: kind, options } of policyFactories) {
  for (const [name, { placeholder, description }] of Object.entries(options)) {
    const option = policyOptions.get(name) ?? { placeholder, kindsByText: new Map<string, string[]>() };
    policyOptions.set(name, option);
    option.kindsByText.set(description, [...(option.kindsByText.get(description) ?? []), kind]);
  }
}

/**
 * Adds the options of all kinds of policies; the kind's factory checks which go together. A description names the kinds
 * that have the option, unless most have it.
 */
export function addPolicyOptions(command: Command): Command {
  for (const [name, { placeholder, kindsByText }] of policyOptions) {
    const description = [...kindsByText]
      .map(([text, kinds]) => (kinds.length > policyFactories.length / 2 ? text : `${kinds.join(', ')}: ${text}`))
      .join('; ');
    command.addOption(new Option(`--${flagOf(name)} <${placeholder}>`, description).argParser(valueOf));
  }
  return command;
}

/** The policy that these options describe. */
export function policyFrom(kind: string, options: Readonly<Record<string, unknown>>): Policy {
  const own = Object.entries(options).filter(([name]) => name === 'name' || policyOptions.has(name));
  return policyOf(kind, Object.fromEntries(own));
}

/**
 * The policy in a text such as `fixedWindow --limit 100 --window 1m --name burst`.
 *
 * @throws UsageError when the text is not a policy.
 */
export function policyFromText(text: string): Policy {
  const { kind, options } = parsedText(text, text, 'give each policy a --policy of its own');
  return policyFrom(kind, options);
}

/**
 * The kind and the options in the text of one policy.
 *
 * @param whole - The text that errors show.
 * @param instead - How several policies are written.
 * @param further - Options beside those of policies, such as `--key <key>`.
 * @throws UsageError when the words are not a kind and options.
 */
export function parsedText(
  text: string,
  whole: string,
  instead: string,
  further: readonly string[] = [],
): { readonly kind: string; readonly options: Readonly<Record<string, unknown>> } {
  const command = addPolicyOptions(new Command('--policy'))
    .exitOverride()
    .helpOption(false)
    .configureOutput({ writeErr: () => undefined })
    .argument('<kind>')
    .option('--name <name>');
  for (const option of further) command.option(option);
  try {
    command.parse(wordsOf(text, whole, instead), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) throw misspelt(error, whole);
    throw error;
  }
  return { kind: command.args[0] as string, options: command.opts() };
}

/** The error of a policy text whose words are not a kind and options. */
function misspelt({ code, message }: CommanderError, text: string): UsageError {
  const wrong = code === 'commander.excessArguments' ? 'too many words' : message.replace(/^error: /, '');
  return new UsageError(`--policy ${JSON.stringify(text)}: ${wrong}; ${FORM}`);
}

/**
 * The words of a policy in a text, of which each option is given once: a second one would take the place of the first.
 *
 * @param whole - The text that errors show.
 * @param instead - How several policies are written.
 * @throws UsageError for an option that is given twice.
 */
function wordsOf(text: string, whole: string, instead: string): readonly string[] {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const options = words.filter((word) => word.startsWith('--')).map((word) => word.split('=', 1)[0] ?? word);
  const twice = options.find((option, i) => options.indexOf(option) < i);
  if (twice === undefined) return words;
  throw new UsageError(`--policy ${JSON.stringify(whole)}: ${twice} is given twice; ${instead}`);
}

function flagOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Numbers as numbers, and true and false; the policy checks the rest. */
function valueOf(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
