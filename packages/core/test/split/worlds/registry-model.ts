/** The arguments of a heartbeat: see heartbeat.lua. */
export interface HeartbeatCall {
  readonly id: string;
  /** 0 when it leaves. */
  readonly weight: number;
  readonly ttlMs: number;
  /** The last change that it knows, or ''. */
  readonly change: string;
}

export type Reply = readonly [atMs: number, longestTtlMs: number, joinedAtMs: number, change: string, members: string];

interface Member {
  readonly weight: number;
  readonly heardAtMs: number;
  readonly joinedAtMs: number;
}

/** The registry of one group, as heartbeat.lua keeps it in Redis. */
export class RegistryModel {
  readonly #members = new Map<string, Member>();
  #change = '0';
  #latestMs = 0;
  #ttlMs = 0;
  #sweptAtMs = 0;

  heartbeat({ id, weight, ttlMs, change }: HeartbeatCall, serverMs: number): Reply {
    const nowMs = Math.max(serverMs, this.#latestMs);
    this.#ttlMs = Math.max(ttlMs, this.#ttlMs);
    this.#latestMs = nowMs;
    const isSwept = this.#sweep(id, nowMs);
    const { weight: before, joinedAtMs = nowMs } = this.#members.get(id) ?? {};
    if (weight > 0) this.#members.set(id, { weight, heardAtMs: nowMs, joinedAtMs });
    else this.#members.delete(id);
    if (isSwept || weight !== (before ?? 0)) {
      this.#change = `${String(Number(this.#change.split(' ')[0]) + 1)} ${String(nowMs)} ${id}`;
    }
    const members = [...this.#members].map(([other, { weight: its }]) => `${other}=${String(its)}`);
    return [nowMs, this.#ttlMs, joinedAtMs, this.#change, change === this.#change ? '' : members.join(' ')];
  }

  /** Forgets everything, as when Redis restarts empty. */
  forget(): void {
    this.#members.clear();
    this.#change = '0';
    this.#latestMs = this.#ttlMs = this.#sweptAtMs = 0;
  }

  #sweep(id: string, nowMs: number): boolean {
    if (10 * (nowMs - this.#sweptAtMs) < this.#ttlMs) return false;
    this.#sweptAtMs = nowMs;
    const gone = [...this.#members].filter(([other, one]) => other !== id && one.heardAtMs + this.#ttlMs <= nowMs);
    for (const [other] of gone) this.#members.delete(other);
    return gone.length > 0;
  }
}
