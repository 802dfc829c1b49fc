import type { LogEntry } from '../formats/log-entry.ts';

/** One of the logs that are merged: its next entries. */
interface Head {
  readonly batches: AsyncIterator<readonly LogEntry[]>;
  batch: readonly LogEntry[];
  next: number;
}

/**
 * Merges logs by time: always the earliest of their next entries. Each log is about in order, as `InOrder` repairs it
 * afterwards.
 *
 * @param take - Called with each entry.
 * @param pause - Called between two batches.
 */
export async function merge(
  logs: readonly AsyncIterable<readonly LogEntry[]>[],
  take: (entry: LogEntry) => void,
  pause: () => void,
): Promise<void> {
  let heads: Head[] = logs.map((log) => ({ batches: log[Symbol.asyncIterator](), batch: [], next: 0 }));
  for (;;) {
    for (const head of heads) await fill(head);
    heads = heads.filter(({ batch }) => batch.length > 0);
    const [first] = heads;
    if (first === undefined) return;
    if (heads.length === 1) {
      const { batch } = first;
      for (let i = first.next; i < batch.length; i++) take(batch[i] as LogEntry);
      first.next = batch.length;
    } else {
      takeInTurn(heads, take);
    }
    pause();
  }
}

/** Takes entries until one log has none at hand. */
function takeInTurn(heads: readonly Head[], take: (entry: LogEntry) => void): void {
  for (;;) {
    let earliest = heads[0] as Head;
    let entry = earliest.batch[earliest.next] as LogEntry;
    for (const head of heads) {
      const other = head.batch[head.next] as LogEntry;
      if (other.atMs < entry.atMs) {
        earliest = head;
        entry = other;
      }
    }
    take(entry);
    earliest.next++;
    if (earliest.next === earliest.batch.length) return;
  }
}

async function fill(head: Head): Promise<void> {
  while (head.next === head.batch.length) {
    const more = await head.batches.next();
    head.next = 0;
    head.batch = more.done === true ? [] : more.value;
    if (more.done === true) return;
  }
}
