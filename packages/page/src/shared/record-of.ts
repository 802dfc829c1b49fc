import { hostname } from 'node:os';
import type { PageChange } from '../history.ts';
import type { KeyNames } from '../key-names.ts';
import type { Recorder } from '../recorder.ts';
import { MOST_SHARED_KEYS, type PageRecord, type SharedChange, type SharedKey } from './page-record.ts';

/** What a page shares of its counts now: no key, where keys are shown hashed. */
export function recordOf({ denied, startedAtMs }: Recorder, names: KeyNames): PageRecord {
  const keys = denied.top(MOST_SHARED_KEYS).map(({ item, count, atLeast, atMost }): SharedKey => {
    const key = names.sharedTextOf(item);
    return {
      ...{ id: names.idOf(item), limiter: item.core.name, policy: item.policy, key },
      ...(names.isHashed || item.subject === key ? {} : { subject: item.subject }),
      ...{ count, atLeast, atMost },
    };
  });
  return {
    process: { pid: process.pid, host: hostname(), sinceMs: startedAtMs },
    isHashed: names.isHashed,
    ...{ sinceMs: denied.sinceMs, oneIn: denied.oneIn, beyond: denied.beyond(MOST_SHARED_KEYS), keys },
  };
}

/** The record of another page, as this one shows keys. */
export function shownRecord(record: PageRecord, names: KeyNames): PageRecord {
  if (record.isHashed || !names.isHashed) return record;
  const keys = record.keys.map(({ subject, ...key }) => ({
    ...key,
    key: names.textOf({ key: key.key, length: key.key.length, subject: subject ?? key.key }),
  }));
  return { ...record, keys };
}

/** A change that another process has told, as this one shows keys. */
export function shownChange({ isHashed, ...change }: SharedChange, names: KeyNames): PageChange {
  return names.isHashed && !isHashed ? { ...change, target: 'a key' } : change;
}
