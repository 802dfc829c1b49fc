import { userInfo } from 'node:os';
import { Option, type Command } from 'commander';
import { redisStore, type RedisStore } from '@sluice/core';
import { createPolicies, type Policies } from '@sluice/core/managed';
import { findConnection, connectTo, type RedisConnection } from '@sluice/core/spi';
import { isLate, UsageError } from './failure.ts';
import { connect, silence, type Connection } from './redis.ts';

/** The options of every command. */
export interface GlobalOptions {
  readonly redis: string;
  readonly prefix: string;
  readonly json?: true;
}

/** Prints a value as JSON, or the result of `text`. */
export type Print = (value: unknown, text: () => string) => void;

/** What a command needs to work in Redis. */
export interface Session {
  readonly client: Connection;
  readonly prefix: string;
  readonly store: RedisStore;
  readonly connection: RedisConnection;
  readonly policies: Policies;
}

/** @throws UsageError for a prefix that core rejects, before connecting. */
export function readPrefix(prefix: string): string {
  try {
    return connectTo('redis://localhost', prefix, 'redisStore').prefix; // opens nothing
  } catch (error) {
    throw new UsageError((error as Error).message.replace(/write redisStore.*/s, 'write --prefix shop'), {
      cause: error,
    });
  }
}

/** The options of every command, given before or after its name. */
export function readGlobals(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}

/** Prints JSON if `--json` is given. */
export function makePrint(command: Command): Print {
  const { json } = readGlobals(command);
  return (value, text) => {
    console.log(json === true ? JSON.stringify(value, null, 2) : text());
  };
}

/** `--by`: who makes the change, recorded with it. */
export function byOption(): Option {
  return new Option('--by <name>', 'who changes it: kept with it').default(getUserName(), 'the user of this process');
}

function getUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown'; // a user without an entry, as in many containers
  }
}

/** An option that may be repeated. */
export function repeated(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value: string, before: readonly string[] | undefined) => [
    ...(before ?? []),
    value,
  ]);
}

/**
 * Connects, runs the work, and always closes the connection.
 *
 * @param writes - Whether the work changes data: after a timeout, the change may have been made.
 * @throws (rejects) Failure after a timeout; the errors of the work.
 */
export async function withRedis(
  command: Command,
  writes: boolean,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const { redis, prefix } = readGlobals(command);
  const client = await connect(redis);
  try {
    const store = redisStore(client as never, { prefix });
    const policies = createPolicies(store);
    try {
      await work({ client, prefix, store, connection: findConnection(store) as RedisConnection, policies });
    } finally {
      await policies.close();
    }
  } catch (error) {
    if (!isLate(error)) throw error;
    throw silence(redis, error, writes ? '; the change may have been made anyway' : '');
  } finally {
    client.disconnect();
  }
}
