import type { Command } from 'commander';
import { Failure, isLate } from '@sluice/simulate/terminal';
import { connect, silence, type Connection } from './redis.ts';

/** The options of every command. */
export interface GlobalOptions {
  readonly redis: string;
  readonly prefix: string;
  readonly json?: true;
}

/** Prints a value as JSON, or the result of `text`. */
export type Print = (value: unknown, text: () => string) => void;

/** A running command. */
export interface Session {
  readonly connection: Connection;
  readonly prefix: string;
  readonly print: Print;
}

/** The options of every command, given before or after it on the line. */
export function globalsOf(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}

/** Prints as JSON where `--json` is given. */
export function printOf({ json }: GlobalOptions): Print {
  return (value, text) => {
    console.log(json === true ? JSON.stringify(value, null, 2) : text());
  };
}

/**
 * Connects, does the work, and closes the connection in any case.
 *
 * @param writes - Whether the work changes data. After a timeout the change may have been made.
 * @throws (rejects) Failure after a timeout; the errors of the work.
 */
export async function withSession(
  command: Command,
  work: (session: Session) => Promise<void>,
  { writes = false }: { readonly writes?: boolean } = {},
): Promise<void> {
  const globals = globalsOf(command);
  const { redis, prefix } = globals;
  const connection = await connect(redis);
  try {
    await work({ connection, prefix, print: printOf(globals) });
  } catch (error) {
    if (!isLate(error)) throw error;
    const unsure = writes ? '; the change may have been made anyway' : '';
    throw new Failure(`${silence(redis, connection, error)}${unsure}`, { cause: error });
  } finally {
    connection.disconnect();
  }
}
