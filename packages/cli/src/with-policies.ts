import type { Command } from 'commander';
import { createPolicies, type Policies } from '@sluice/old-managed';
import { withSession, type Session } from './session.ts';

/** What a command does with the managed policies of Redis. */
export type Work = (policies: Policies, session: Session) => Promise<void>;

/**
 * Connects to Redis, does the work over its managed policies, and closes all.
 *
 * @param writes - Whether the work changes data.
 * @throws (rejects) as {@link withSession} does.
 */
export async function withPolicies(
  command: Command,
  work: Work,
  { writes = false }: { writes?: boolean } = {},
): Promise<void> {
  await withSession(
    command,
    async (session) => {
      const policies = createPolicies(session.connection, { prefix: session.prefix });
      try {
        await work(policies, session);
      } finally {
        await policies.close();
      }
    },
    { writes },
  );
}
