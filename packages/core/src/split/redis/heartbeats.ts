import { shown, StoreError } from '../../errors.ts';
import { askAgain } from '../membership/ask-again.ts';
import type { LocalTime } from '../membership/local-time.ts';
import { isWeight, MAX_WEIGHT, withinLeaveTime, type Epoch, type Membership } from '../membership/membership.ts';

/** Sends a heartbeat: this instance's weight, 0 when it leaves, and the mark of the latest epoch it knows. */
export type SendHeartbeat = (weight: number, mark: string) => Promise<unknown>;

export interface HeartbeatSettings {
  readonly id: string;
  readonly weight: () => number;
  readonly heartbeatMs: number;
  readonly ttlMs: number;
}

/** A membership by heartbeats to a registry that replies as heartbeat.lua does. */
export function heartbeats(
  { id, weight, heartbeatMs, ttlMs }: HeartbeatSettings,
  send: SendHeartbeat,
  time: LocalTime,
): Membership {
  return {
    id,
    ttlMs,
    join(confirmed, failed) {
      const members = new Map<string, number>();
      let mark = '';
      const end = askAgain(
        time,
        { everyMs: heartbeatMs, ttlMs, maxPauseMs: heartbeatMs },
        () => send(readWeight(weight), mark),
        (reply, askedAt) => {
          const { atMs, longestTtlMs, continues, epochs } = readReply(reply);
          if (!continues) members.clear();
          const played = epochs.map(({ fromMs, changes }): Epoch => {
            for (const [member, changed] of changes) {
              if (changed === 0) members.delete(member);
              else members.set(member, changed);
            }
            return { fromMs, members: Object.fromEntries(members) };
          });
          mark = epochs.at(-1)?.mark ?? mark;
          confirmed({ ...askedAt, atMs, epochs: played, continues, longestTtlMs });
        },
        failed,
      );
      return () => {
        end();
        // If the message is lost, the registry drops this member after its time to live.
        return withinLeaveTime(send(0, ''));
      };
    },
  };
}

/** An epoch as the registry keeps it: the changes since the epoch before, a weight of 0 for a member that is gone. */
interface EpochText {
  readonly mark: string;
  readonly fromMs: number;
  readonly changes: readonly (readonly [id: string, weight: number])[];
}

interface Reply {
  readonly atMs: number;
  readonly longestTtlMs: number;
  /** Whether the epochs follow those already known. If not, there is a single epoch, which lists all members. */
  readonly continues: boolean;
  readonly epochs: readonly EpochText[];
}

const EPOCH = /^(\d+ (\d+) [\w-]+)((?: [\w-]+=\d+)*)$/;

/** @throws StoreError `SLUICE_STORE_REPLY_INVALID` if the reply has another form. */
function readReply(reply: unknown): Reply {
  const [at, ttl, known, text] = Array.isArray(reply) ? (reply as readonly unknown[]) : [];
  const [atMs, longestTtlMs] = [Number(at), Number(ttl)];
  if (!Number.isSafeInteger(atMs) || !Number.isSafeInteger(longestTtlMs)) throw invalidReply(reply);
  const epochs = String(text)
    .split(';')
    .filter((epoch) => epoch !== '')
    .map(readEpoch);
  return { atMs, longestTtlMs, continues: Number(known) === 1, epochs };
}

function readEpoch(text: string): EpochText {
  const [, mark, fromMs, changes] = EPOCH.exec(text) ?? [];
  if (mark === undefined || changes === undefined) throw invalidReply(text);
  const pairs = changes
    .split(' ')
    .slice(1)
    .map((change) => change.split('=') as [string, string]);
  return { mark, fromMs: Number(fromMs), changes: pairs.map(([id, weight]) => [id, Number(weight)]) };
}

function invalidReply(got: unknown): StoreError {
  return new StoreError('SLUICE_STORE_REPLY_INVALID', `the reply to a heartbeat has an unknown form: ${shown(got)}`);
}

/** @throws RangeError for anything but a weight. */
function readWeight(weight: () => unknown): number {
  const given = weight();
  if (isWeight(given)) return given;
  throw new RangeError(`weight must be a whole number from 1 to ${String(MAX_WEIGHT)}, got ${shown(given)}`);
}
