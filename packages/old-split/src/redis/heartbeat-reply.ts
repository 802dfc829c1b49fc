import { StoreError } from '@sluice/old-core';
import { shown } from '@sluice/old-core/spi';
import type { Epoch } from '../membership/membership.ts';

/** The reply to a heartbeat: see heartbeat.lua. */
export interface HeartbeatReply {
  readonly atMs: number;
  readonly longestTtlMs: number;
  /** Whether the epochs follow those already known. If not, there is a single epoch, which lists all members. */
  readonly continues: boolean;
  readonly epochs: readonly EpochText[];
}

/** An epoch as the registry keeps it: the changes since the epoch before. */
export interface EpochText {
  readonly mark: string;
  readonly number: number;
  readonly fromMs: number;
  readonly changes: readonly Change[];
}

/** A member's new weight; 0 when it is gone. */
type Change = readonly [id: string, weight: number];

const EPOCH = /^(?<mark>(?<number>\d+) (?<fromMs>\d+) [\w-]+)(?<changes>(?: (?:\+[\w-]+=\d+|-[\w-]+))*)$/;

/** @throws StoreError `SLUICE_STORE_REPLY_INVALID` if the reply has another form. */
export function readHeartbeat(reply: unknown): HeartbeatReply {
  const [atMs, longestTtlMs, known, text] = Array.isArray(reply) ? (reply as readonly unknown[]) : [];
  const [at, ttl, isKnown] = [Number(atMs), Number(longestTtlMs), Number(known)];
  if (!Number.isSafeInteger(at) || !Number.isSafeInteger(ttl) || (isKnown !== 0 && isKnown !== 1)) throw invalid(reply);
  const epochs = String(text)
    .split(';')
    .filter((epoch) => epoch.trim() !== '')
    .map(readEpoch);
  return { atMs: at, longestTtlMs: ttl, continues: isKnown === 1, epochs };
}

function readEpoch(text: string): EpochText {
  const { mark, number, fromMs, changes } = EPOCH.exec(text)?.groups ?? {};
  if (mark === undefined || changes === undefined) throw invalid(text);
  return {
    mark,
    number: Number(number),
    fromMs: Number(fromMs),
    changes: changes
      .split(' ')
      .filter((change) => change !== '')
      .map((change): Change => {
        if (change.startsWith('-')) return [change.slice(1), 0];
        const equals = change.indexOf('=');
        return [change.slice(1, equals), Number(change.slice(equals + 1))];
      }),
  };
}

function invalid(got: unknown): StoreError {
  return new StoreError('SLUICE_STORE_REPLY_INVALID', `the reply to a heartbeat has an unknown form: ${shown(got)}`);
}

/** Applies the changes of each epoch to `members`, and returns the epochs with all their members. */
export function applyEpochs(members: Map<string, number>, epochs: readonly EpochText[]): readonly Epoch[] {
  return epochs.map(({ fromMs, changes }) => {
    for (const [id, weight] of changes) {
      if (weight === 0) members.delete(id);
      else members.set(id, weight);
    }
    return { fromMs, members: Object.fromEntries(members) };
  });
}
