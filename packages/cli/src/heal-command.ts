import { Option, type Command } from 'commander';
import { redisStore, type Policy } from '@sluice/core';
import { inspectKey, limitOfKey, ownerOfExternalState } from '@sluice/core/inspect';
import { collect } from './collect.ts';
import { Failure, policyFromText, printable } from '@sluice/simulate/terminal';
import { definitionsIn, nowOf, read, scan } from './read-keys.ts';
import { withSession, type Session } from './session.ts';

/** Keys that are healed in one call. */
const AT_A_TIME = 250;

/** Adds `sluice heal`. */
export function addHeal(sluice: Command): void {
  sluice
    .command('heal')
    .summary("cut states that a server's clock which ran ahead has left behind")
    .description(
      'Cuts every state that ends later than its policy could make it end now to one window from now: the clock of Redis ran ahead when it was written. Blocks stay.',
    )
    .addOption(
      new Option(
        '--policy <text>',
        "a limiter's policy, as in 'fixedWindow --limit 100 --window 1m [--name burst]'; may be repeated",
      ).argParser(collect),
    )
    .addHelpText(
      'after',
      '\nScans every key in Redis, a thousand at a time. Knows the managed policies; give the others with --policy.',
    )
    .action(async ({ policy = [] }: { policy?: readonly string[] }, command: Command) => {
      const policies = policy.map(policyFromText);
      await withSession(command, (session) => heal(session, policies), { writes: true });
    });
}

async function heal({ connection, prefix, print }: Session, policies: readonly Policy[]): Promise<void> {
  const options = { prefix, policies, definitions: await definitionsIn(connection, prefix) };
  const store = redisStore(connection, { prefix });
  const all = await scan(connection, `${prefix.replace(/[\\*?[\]]/g, '\\$&')}:{*`);
  const keys = all.filter(
    (key) => ownerOfExternalState(key, prefix) === undefined && !key.startsWith(`${prefix}:{#overrides}:`),
  );
  const healed: string[] = [];
  const unknown: string[] = [];
  for (let from = 0; from < keys.length; from += AT_A_TIME) {
    const some = keys.slice(from, from + AT_A_TIME);
    const values = await Promise.all(some.map(async (key) => read(connection, key)));
    const atMs = await nowOf(connection);
    const known = some.flatMap((key, i) => {
      const value = values[i];
      if (typeof value !== 'string') return [];
      const found = limitOfKey(key, value, options);
      if (found === undefined && inspectKey(key, value, atMs, options).subject !== null) unknown.push(key);
      return found === undefined ? [] : [{ key, part: { ...found, cost: 0 } }];
    });
    const answers = await store.perform(known.map(({ part }) => ({ op: 'heal', part })));
    answers.forEach((answer, i) => {
      const { key = '' } = known[i] ?? {};
      if (answer instanceof Error) throw new Failure(`${key}: ${answer.message}`, { cause: answer });
      if (answer.stale !== undefined) unknown.push(key);
      else if (answer.healed === true) healed.push(key);
    });
  }
  print({ keys: keys.length, healed, unknown }, () =>
    [
      ...healed.map((key) => `cut ${printable(key)}`),
      `${String(healed.length)} of ${String(keys.length)} keys cut`,
      ...(unknown.length === 0
        ? []
        : [
            `${String(unknown.length)} keys not looked at, such as ${printable(unknown[0] ?? '')}: give their policies with --policy`,
          ]),
    ].join('\n'),
  );
}
