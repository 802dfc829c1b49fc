import type { Membership } from '@sluice/core/split';

/** A membership that has joined, and what it was told. */
export interface Joined {
  readonly seen: Readonly<Record<string, number>>[];
  readonly errors: string[];
  leave(): Promise<void> | void;
}

export function join(membership: Membership): Joined {
  const joined: Omit<Joined, 'leave'> = { seen: [], errors: [] };
  const leave = membership.join(
    (confirmation) => joined.seen.push((confirmation as { members: Joined['seen'][number] }).members),
    (error) => joined.errors.push((error as Error).message),
  );
  return { ...joined, leave };
}

/** The members of the last answer, in the order of their ids. */
export function latest({ seen }: Joined): string {
  return JSON.stringify(Object.fromEntries(Object.entries(seen.at(-1) ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))));
}
