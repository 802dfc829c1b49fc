import { setTimeout as sleep } from 'node:timers/promises';
import { shown, StoreError } from '../../errors.ts';
import { askAgain } from '../membership/ask-again.ts';
import { isWeight, MAX_WEIGHT, type Confirmation, type Membership, type Members } from '../membership/membership.ts';
import type { LocalTime } from '../membership/membership-clock.ts';

/** Sends a heartbeat: this instance's weight, 0 when it leaves, and the last change of members that it knows. */
export type SendHeartbeat = (weight: number, change: string) => Promise<unknown>;

export interface HeartbeatSettings {
  readonly id: string;
  readonly weight: () => number;
  readonly heartbeatMs: number;
  readonly ttlMs: number;
}

/** How long `close` waits for the reply to the last message. */
const MAX_LEAVE_MS = 1000;

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
      let members: Members = {};
      let known = '';
      const end = askAgain(
        time,
        { everyMs: heartbeatMs, ttlMs, maxPauseMs: heartbeatMs },
        () => send(checkWeight(weight()), known),
        (reply, askedAt) => {
          const { change, ...read } = readReply(reply);
          if (change !== known) members = read.members;
          known = change;
          confirmed({ ...askedAt, ...read, members });
        },
        failed,
      );
      return async () => {
        end();
        // If the message is lost, the registry drops this member after its `ttlMs`.
        const left = send(0, '').catch(() => undefined);
        await Promise.race([left, sleep(MAX_LEAVE_MS, undefined, { ref: false })]);
      };
    },
  };
}

/** The number of a change of members, its instant, and the id of the instance that made it. */
const CHANGE = /^(\d+) (\d+) [\w-]+$/;
const MEMBERS = /^([\w-]+=\d+( |$))*$/;

/** @throws StoreError `SLUICE_STORE_REPLY_INVALID` for an unexpected reply. */
function readReply(reply: unknown): Pick<Confirmation, 'members' | 'time'> & { readonly change: string } {
  const [at, ttl, joined, change = '', text = '?'] = Array.isArray(reply) ? reply.map(String) : [];
  const [, count, from] = CHANGE.exec(change) ?? [];
  const [atMs, longestTtlMs, joinedAtMs, changes, fromMs] = [at, ttl, joined, count, from].map(Number) as TimeNumbers;
  if (![atMs, longestTtlMs, joinedAtMs, changes].every(Number.isSafeInteger) || !MEMBERS.test(text)) {
    const message = `unexpected reply to a heartbeat: ${shown(reply)}`;
    throw new StoreError('SLUICE_STORE_REPLY_INVALID', message);
  }
  const members = text.split(' ').map((member) => member.split('=') as [string, string]);
  return {
    change,
    time: { atMs, longestTtlMs, joinedAtMs, changes, fromMs },
    members: text === '' ? {} : Object.fromEntries(members.map(([id, weight]) => [id, Number(weight)])),
  };
}

type TimeNumbers = [atMs: number, longestTtlMs: number, joinedAtMs: number, changes: number, fromMs: number];

/** @throws RangeError for anything but a weight. */
function checkWeight(given: unknown): number {
  if (isWeight(given)) return given;
  throw new RangeError(`weight must be a whole number from 1 to ${String(MAX_WEIGHT)}, got ${shown(given)}`);
}
