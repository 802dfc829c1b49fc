import { Command, CommanderError } from 'commander';
import { escalate, PolicyError, type Policy } from '@sluice/core';
import type { ManagedPolicy } from '@sluice/managed';
import { writtenPolicy } from '@sluice/core/inspect';
import { holdsSlots, namePolicies } from '@sluice/core/spi';
import { UsageError } from '../terminal/failure.ts';
import { FORM, addPolicyOptions, misspelt, policyFrom, wordsOf } from '../terminal/policy-options.ts';
import { costSpec } from '../keys/cost-spec.ts';
import type { KeySpec } from '../keys/key-spec.ts';
import { limitOf, type Candidate, type CandidateLimit } from './candidate.ts';

/** The sources that texts of candidates refer to. */
export interface CandidateContext {
  /** The key of limits that name none. */
  readonly key: KeySpec;
  /** The cost of requests where a limit names none. */
  readonly cost: string;
  readonly keyOf: (text: string) => KeySpec;
  /** The managed policy of a name, from Redis. */
  readonly managed: (name: string) => Promise<ManagedPolicy>;
}

interface LimitText {
  readonly policy: Policy;
  readonly options: {
    readonly name?: string;
    readonly key?: string;
    readonly cost?: string;
    readonly escalate?: string;
  };
}

const TOGETHER = "limits that are decided together have ' + ' between them, with its spaces";
const NAME_END = /^(.*?)-?\d*$/;

/**
 * The candidate in a text such as `fixedWindow --limit 100 --window 1m`. Limits that are decided together stand on both
 * sides of a plus: `fixedWindow --limit 10 --window 1s + fixedWindow --limit 100 --window 1m --key all`.
 *
 * @throws UsageError, or the errors of the policies.
 */
export async function candidateFromText(text: string, context: CandidateContext): Promise<Candidate> {
  const parts = ` ${text} `.split(/\s\+(?=\s)/).map((part) => part.trim());
  if (parts.includes('')) {
    throw new UsageError(
      `--policy must be a policy such as 'fixedWindow --limit 100 --window 1m', or several with ' + ' between them, got ${JSON.stringify(text)}`,
    );
  }
  const limits: {
    readonly key: KeySpec;
    readonly cost: string;
    readonly escalate: string;
    readonly policies: Policy[];
  }[] = [];
  for (const part of parts) {
    const { policy, options } = await limitFromText(part, text, context);
    const key = options.key === undefined ? context.key : context.keyOf(options.key);
    const { cost = context.cost, escalate: escalated = '' } = options;
    const same = limits.find((one) => one.key.text === key.text && one.cost === cost && one.escalate === escalated);
    if (same === undefined) limits.push({ key, cost, escalate: escalated, policies: [policy] });
    else same.policies.push(policy);
  }
  const names = new Set<string>();
  const made = limits.map(({ key, cost, escalate: escalated, policies }): CandidateLimit => {
    const named = namePolicies(
      policies.map((policy) => ({ ...policy, name: distinct(policy.name ?? policy.algorithm, names) })),
      'limit',
      '--policy',
    );
    if (holdsSlots(named)) {
      throw new UsageError(
        `--policy ${JSON.stringify(text)}: concurrency holds a slot until it is released, and a log does not tell when; a limit over time can be tried`,
      );
    }
    const written = policies.map((policy) => writtenPolicy(policy)).join(' and ');
    const extras = `${cost === '1' ? '' : `, cost ${cost}`}${escalated === '' ? '' : `, escalate ${escalated}`}`;
    return {
      limit: limitOf(named, escalated === '' ? undefined : escalation(escalated, text)),
      key,
      cost: costSpec(cost),
      text: `${written}${key.text === context.key.text ? '' : ` by ${key.text}`}${extras}`,
    };
  });
  return { text: made.map((limit) => limit.text).join(' and '), limits: made };
}

async function limitFromText(part: string, text: string, context: CandidateContext): Promise<LimitText> {
  const command = addPolicyOptions(new Command('--policy'))
    .exitOverride()
    .helpOption(false)
    .configureOutput({ writeErr: () => undefined })
    .argument('<kind>')
    .argument('[managed]')
    .option('--name <name>')
    .option('--key <key>')
    .option('--cost <cost>')
    .option('--escalate <after,block,decay>');
  try {
    command.parse(wordsOf(part, text, TOGETHER), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) throw misspelt(error, text);
    throw error;
  }
  const [kind = '', name] = command.args;
  const { key, cost, escalate: escalated, ...own } = command.opts<Record<string, string | undefined>>();
  const options = {
    ...(key === undefined ? {} : { key }),
    ...(cost === undefined ? {} : { cost }),
    ...(escalated === undefined ? {} : { escalate: escalated }),
  };
  if (kind === 'managed') {
    if (name === undefined)
      throw new UsageError(`--policy ${JSON.stringify(text)}: managed needs a name, as in 'managed orders'`);
    return { policy: (await context.managed(name)).policy, options };
  }
  if (name !== undefined) {
    throw new UsageError(`--policy ${JSON.stringify(text)}: too many words, at ${JSON.stringify(name)}; ${FORM}`);
  }
  try {
    return { policy: policyFrom(kind, own), options };
  } catch (error) {
    if (error instanceof PolicyError || error instanceof UsageError)
      throw new UsageError(`--policy ${JSON.stringify(text)}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** `5,1m,1h`: denials until a block, the first block, and how long they are remembered. */
function escalation(text: string, policy: string): ReturnType<typeof escalate> {
  const [after = '', block = '', decay = '', ...more] = text.split(',');
  if (more.length > 0 || decay === '') {
    throw new UsageError(
      `--policy ${JSON.stringify(policy)}: --escalate must be denials, block and decay, such as 5,1m,1h, got ${JSON.stringify(text)}`,
    );
  }
  try {
    return escalate({ after: Number(after), block: block as '1m', decay: decay as '1h' });
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw new UsageError(`--policy ${JSON.stringify(policy)}: --escalate ${text}: ${error.message}`, { cause: error });
  }
}

/**
 * Names of a candidate's policies are distinct: an unnamed one has that of its kind, and a number where there are
 * several.
 */
function distinct(name: string, names: Set<string>): string {
  let found = name;
  for (let i = 2; names.has(found.toLowerCase()); i++) found = `${NAME_END.exec(name)?.[1] ?? name}-${String(i)}`;
  names.add(found.toLowerCase());
  return found;
}
