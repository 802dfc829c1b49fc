import { SluiceError, shown } from '../../errors.ts';
import { playEpochs, readHeartbeat } from './heartbeat-reply.ts';
import { localClocks, type LocalClocks } from '../local-clocks.ts';
import type { Confirmation, Membership } from './membership.ts';
import { HEAVIEST, isWeight } from './weight.ts';

/** The clocks of a process, and its timers, which do not keep it alive. */
export interface LocalTime extends LocalClocks {
  /** @returns What ends it. */
  after(ms: number, act: () => void): () => void;
}

export const localTime: LocalTime = {
  ...localClocks,
  after: (ms, act) => {
    const timer = setTimeout(act, ms).unref();
    return () => {
      clearTimeout(timer);
    };
  },
};

/** Sends a heartbeat: this instance's weight, 0 when it leaves, and the mark of the latest epoch it knows. */
export type SendHeartbeat = (weight: number, mark: string) => Promise<unknown>;

export interface HeartbeatSettings {
  readonly id: string;
  readonly weight: () => number;
  readonly heartbeatMs: number;
  readonly ttlMs: number;
}

/** So many heartbeats in a row that nothing came of: then not every one is sent, for a client may keep them all. */
const MOST_UNANSWERED = 32;
const SENT_ONE_OF = 8;

/**
 * A membership by heartbeats to a registry that answers as heartbeat.lua does. None waits for another: one that hangs
 * stops nobody.
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

  /** @throws SluiceError `SLUICE_OPTION_INVALID` when somebody has joined already. */
  join(confirmed: (confirmation: Confirmation) => void, failed: (error: unknown) => void): () => Promise<void> {
    if (this.#isJoined) {
      throw new SluiceError(
        'SLUICE_OPTION_INVALID',
        'a membership is one instance, with one weight: give one splitStore to all limiters, or each store a membership of a group of its own',
      );
    }
    this.#isJoined = true;
    const members = new Map<string, number>();
    let [mark, number] = ['', 0];
    let latestAskedMs = -Infinity;
    let isOver = false;
    let unanswered = 0;
    let cancel: () => void = () => undefined;

    const hear = (reply: unknown, askedAtMs: number, askedAtDateMs: number): void => {
      // A late answer says nothing that is not known by now.
      if (isOver || askedAtMs < latestAskedMs) return;
      const { atMs, longestTtlMs, continues, epochs } = readHeartbeat(reply);
      // Two may have asked for the same epochs.
      const fresh = continues ? epochs.filter((epoch) => epoch.number > number) : epochs;
      if (!continues) members.clear();
      const played = playEpochs(members, fresh);
      latestAskedMs = askedAtMs;
      ({ mark, number } = fresh.at(-1) ?? { mark, number });
      confirmed({ askedAtMs, askedAtDateMs, atMs, epochs: played, continues, longestTtlMs });
    };
    const beat = async (): Promise<void> => {
      const [askedAtMs, askedAtDateMs] = [this.#time.monotonicMs(), this.#time.dateMs()];
      try {
        const reply = await this.#send(this.#weight(), mark);
        unanswered = 0;
        hear(reply, askedAtMs, askedAtDateMs);
      } catch (error) {
        unanswered = 0;
        failed(error);
      }
    };
    const goOn = (): void => {
      cancel = this.#time.after(this.#settings.heartbeatMs, goOn);
      if (++unanswered <= MOST_UNANSWERED || unanswered % SENT_ONE_OF === 0) void beat();
    };
    goOn();
    return async () => {
      if (isOver) return;
      isOver = true;
      cancel();
      this.#isJoined = false;
      // Who cannot say so is taken for gone in time.
      await this.#send(0, '').catch(() => undefined);
    };
  }

  #weight(): number {
    const weight: unknown = this.#settings.weight();
    if (isWeight(weight)) return weight;
    throw new RangeError(`weight must be a whole number from 1 to ${String(HEAVIEST)}, got ${shown(weight)}`);
  }
}
