import type { Definitions } from '@sluice/old-core/inspect';
import { createPolicies } from '@sluice/old-managed';
import { primariesOf, type Connection } from './redis.ts';

/** The keys of all servers that match a pattern. */
export async function scan(connection: Connection, pattern: string): Promise<readonly string[]> {
  const found = new Set<string>();
  await eachKey(connection, pattern, (key) => found.add(key));
  return [...found].sort();
}

/** Visits the keys of all servers that match a pattern; some may come twice. */
export async function eachKey(connection: Connection, pattern: string, visit: (key: string) => unknown): Promise<void> {
  for (const server of primariesOf(connection)) {
    let cursor = '0';
    do {
      const [next, keys] = await server.scan(cursor, 'MATCH', pattern, 'COUNT', 1_000);
      for (const key of keys) visit(key);
      cursor = next;
    } while (cursor !== '0');
  }
}

/** The value of a key; null where there is none. */
export async function read(connection: Connection, key: string): Promise<string | null | { readonly problem: string }> {
  try {
    return await connection.get(key);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return { problem: 'it is not a string' };
    throw error;
  }
}

/** What the managed policies and their overrides are at present. */
export async function definitionsIn(connection: Connection, prefix: string): Promise<Definitions> {
  const policies = createPolicies(connection, { prefix });
  try {
    return await policies.definitions();
  } finally {
    await policies.close();
  }
}

/** The present instant of the server's clock. */
export async function nowOf(connection: Connection): Promise<number> {
  const [seconds, microseconds] = await (primariesOf(connection)[0] ?? connection).time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}
