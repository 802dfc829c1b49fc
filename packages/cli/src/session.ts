import type { Command } from 'commander';
import { Failure, isLate } from './failure.ts';
import { connect, silence, type Connection } from './redis.ts';

/** What the options that every command has say. */
export interface GlobalOptions {
  readonly redis: string;
  readonly prefix: string;
  readonly json?: true;
}

/** A command at work. */
export interface Session {
  readonly connection: Connection;
  readonly prefix: string;
  /** Prints a value as JSON, or what `text` makes of it. */
  readonly print: (value: unknown, text: () => string) => void;
}

/** The options that every command has, wherever on the line they stand: before the command, or after it. */
export function globalsOf(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}

/**
 * Connects, does the work, and lets go of the connection however that ends.
 *
 * @param writes - Whether the work changes something: when no answer comes, it may have been changed.
 * @throws (rejects) Failure when no answer comes in time; what the work throws.
 */
export async function withSession(
  command: Command,
  work: (session: Session) => Promise<void>,
  { writes = false }: { readonly writes?: boolean } = {},
): Promise<void> {
  const { redis, prefix, json } = globalsOf(command);
  const connection = await connect(redis);
  try {
    await work({
      connection,
      prefix,
      print: (value, text) => {
        console.log(json === true ? JSON.stringify(value, null, 2) : text());
      },
    });
  } catch (error) {
    if (!isLate(error)) throw error;
    const unsure = writes ? '; the change may have been made all the same' : '';
    throw new Failure(`${silence(redis, connection, error)}${unsure}`, { cause: error });
  } finally {
    connection.disconnect();
  }
}
