import type { Command } from 'commander';
import { connect, type Connection } from './redis.ts';

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

export function globalsOf(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}

/** Connects, does the work, and lets go of the connection however that ends. */
export async function withSession(command: Command, work: (session: Session) => Promise<void>): Promise<void> {
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
  } finally {
    connection.disconnect();
  }
}
