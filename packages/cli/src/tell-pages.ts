import { randomUUID } from 'node:crypto';
import { connectTo } from '@sluice/old-core/spi';
import { RedisPages, type PageChange } from '@sluice/page/spi';
import type { Session } from './session.ts';

/** Tells the pages of all processes of changes that were made, which they show as what happened last. Never rejects. */
export async function tellPages({ connection, prefix }: Session, changes: readonly PageChange[]): Promise<void> {
  const pages = new RedisPages(connectTo(connection, { prefix }, 'sluice'));
  try {
    for (const change of changes) await pages.addChange(randomUUID(), { ...change, isHashed: false });
  } catch (error) {
    console.error(`sluice: the change was made, and pages do not show it: ${(error as Error).message}`);
  }
}
