import { type LocalTime, shown } from '@sluice/old-core/spi';
import { applyEpochs, readHeartbeat } from './heartbeat-reply.ts';
import { inUseError } from '../membership/joining.ts';
import type { Confirmation, Membership } from '../membership/membership.ts';
import { HEAVIEST, isWeight } from '../values/weight.ts';

/** Sends a heartbeat: this instance's weight, 0 when it leaves, and the mark of the latest epoch it knows. */
export type SendHeartbeat = (weight: number, mark: string) => Promise<unknown>;

export interface HeartbeatSettings {
  readonly id: string;
  readonly weight: () => number;
  readonly heartbeatMs: number;
  readonly ttlMs: number;
}

/**
 * After this many heartbeats in a row without a reply only one of `SENT_ONE_OF` is sent, because a client may queue
 * all.
 */
const MOST_UNANSWERED = 32;
const SENT_ONE_OF = 8;

/**
 * A membership by heartbeats to a registry that replies as heartbeat.lua does. Heartbeats do not wait for each other,
 * so one that hangs does not delay the next.
 */
export class Heartbeats implements Membership {
  readonly id: string;
  readonly ttlMs: number;
  readonly #settings: HeartbeatSettings;
  readonly #send: SendHeartbeat;
  readonly #time: LocalTime;
  #isJoined = false;

  constructor(settings: HeartbeatSettings, send: SendHeartbeat, time: LocalTime) {
    this.id = settings.id;
    this.ttlMs = settings.ttlMs;
    this.#settings = settings;
    this.#send = send;
    this.#time = time;
  }

  /** @throws SluiceError `SLUICE_OPTION_INVALID` when a store has already joined. */
  join(confirmed: (confirmation: Confirmation) => void, failed: (error: unknown) => void): () => Promise<void> {
    if (this.#isJoined) throw inUseError();
    this.#isJoined = true;
    const members = new Map<string, number>();
    let [mark, number] = ['', 0];
    let latestAskedMs = -Infinity;
    let isGone = false;
    let unanswered = 0;
    let cancel: () => void = () => undefined;

    const receive = (reply: unknown, askedAtMs: number, askedAtDateMs: number): void => {
      // A reply to an earlier heartbeat is outdated.
      if (isGone || askedAtMs < latestAskedMs) return;
      const { atMs, longestTtlMs, continues, epochs } = readHeartbeat(reply);
      // Two heartbeats in flight can both return the same epochs.
      const fresh = continues ? epochs.filter((epoch) => epoch.number > number) : epochs;
      if (!continues) members.clear();
      const played = applyEpochs(members, fresh);
      latestAskedMs = askedAtMs;
      ({ mark, number } = fresh.at(-1) ?? { mark, number });
      confirmed({ askedAtMs, askedAtDateMs, atMs, epochs: played, continues, longestTtlMs });
    };
    const heartbeat = async (): Promise<void> => {
      const [askedAtMs, askedAtDateMs] = [this.#time.monotonicMs(), this.#time.dateMs()];
      try {
        const reply = await this.#send(this.#weight(), mark);
        unanswered = 0;
        receive(reply, askedAtMs, askedAtDateMs);
      } catch (error) {
        unanswered = 0;
        failed(error);
      }
    };
    const sendAndSchedule = (): void => {
      cancel = this.#time.after(this.#settings.heartbeatMs, sendAndSchedule);
      if (++unanswered <= MOST_UNANSWERED || unanswered % SENT_ONE_OF === 0) void heartbeat();
    };
    sendAndSchedule();
    return async () => {
      if (isGone) return;
      isGone = true;
      cancel();
      this.#isJoined = false;
      // If the message is lost, the registry drops this member after its time to live.
      await this.#send(0, '').catch(() => undefined);
    };
  }

  #weight(): number {
    const weight: unknown = this.#settings.weight();
    if (isWeight(weight)) return weight;
    throw new RangeError(`weight must be a whole number from 1 to ${String(HEAVIEST)}, got ${shown(weight)}`);
  }
}
