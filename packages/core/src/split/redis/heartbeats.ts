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
        () => send(checkWeight(weight()), mark),
        (reply, askedAt) => {
          const { atMs, longestTtlMs, continues, texts } = readReply(reply);
          if (!continues) members.clear();
          const epochs = texts.map((text): Epoch => {
            const [, ownMark, fromMs, changes] = EPOCH.exec(text) as unknown as [string, string, string, string];
            mark = ownMark;
            for (const [, member, changed] of changes.matchAll(CHANGE) as Iterable<[string, string, string]>) {
              if (changed === '0') members.delete(member);
              else members.set(member, Number(changed));
            }
            return { fromMs: Number(fromMs), members: Object.fromEntries(members) };
          });
          confirmed({ ...askedAt, atMs, epochs, continues, longestTtlMs });
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

/** An epoch as the registry keeps it: its mark, and the changes since the epoch before. */
const EPOCH = /^(\d+ (\d+) [\w-]+)((?: [\w-]+=\d+)*)$/;
/** A member and its weight; 0 if it is gone. */
const CHANGE = / ([\w-]+)=(\d+)/g;

interface Reply {
  readonly atMs: number;
  readonly longestTtlMs: number;
  /** Whether the epochs follow those already known. If not, there is a single epoch, which lists all members. */
  readonly continues: boolean;
  readonly texts: readonly string[];
}

/** @throws StoreError `SLUICE_STORE_REPLY_INVALID` if the reply has another form. */
function readReply(reply: unknown): Reply {
  const [at, ttl, known, text = '?'] = Array.isArray(reply) ? reply.map(String) : [];
  const texts = text.split(';').filter((epoch) => epoch !== '');
  const [atMs, longestTtlMs] = [Number(at), Number(ttl)];
  if (Number.isSafeInteger(atMs) && Number.isSafeInteger(longestTtlMs) && texts.every((epoch) => EPOCH.test(epoch))) {
    return { atMs, longestTtlMs, continues: known === '1', texts };
  }
  const message = `the reply to a heartbeat has an unknown form: ${shown(reply)}`;
  throw new StoreError('SLUICE_STORE_REPLY_INVALID', message);
}

/** @throws RangeError for anything but a weight. */
function checkWeight(given: unknown): number {
  if (isWeight(given)) return given;
  throw new RangeError(`weight must be a whole number from 1 to ${String(MAX_WEIGHT)}, got ${shown(given)}`);
}
