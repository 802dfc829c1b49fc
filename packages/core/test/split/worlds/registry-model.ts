/** The arguments of a heartbeat: see heartbeat.lua. */
export interface HeartbeatCall {
  readonly id: string;
  /** 0 when it leaves. */
  readonly weight: number;
  readonly ttlMs: number;
  /** Of the latest epoch it knows, or ''. */
  readonly mark: string;
}

interface Member {
  weight: number;
  heardAtMs: number;
}

interface Epoch {
  readonly mark: string;
  readonly fromMs: number;
  readonly changes: readonly string[];
}

/** An epoch that has begun, as far as waits depend on it. */
export interface BegunEpoch {
  readonly atMs: number;
  /** The weight of all members by that of the lightest. */
  readonly spread: number;
}

const MAX_BYTES = 65_536;

/** The registry of one group, as heartbeat.lua keeps it in Redis. */
export class RegistryModel {
  readonly #members = new Map<string, Member>();
  /** All epochs so far. The script keeps only the latest. */
  readonly begun: BegunEpoch[] = [];
  #epochs: Epoch[] = [];
  #latestMs = 0;
  #ttlMs = 0;
  #sweptAtMs = 0;

  heartbeat(call: HeartbeatCall, serverMs: number): readonly [number, number, number, string] {
    const nowMs = Math.max(serverMs, this.#latestMs);
    this.#ttlMs = Math.max(call.ttlMs, this.#ttlMs);
    this.#latestMs = nowMs;
    const changes = this.#changes(call, nowMs);
    if (changes.length > 0) this.#begin(nowMs, call.id, changes);
    const known = this.#epochs.findIndex(({ mark }) => mark === call.mark);
    if (known !== -1)
      return [
        nowMs,
        this.#ttlMs,
        1,
        this.#epochs
          .slice(known + 1)
          .map(textOf)
          .join(';'),
      ];
    const members = [...this.#members].map(([id, { weight }]) => `${id}=${String(weight)}`);
    return [nowMs, this.#ttlMs, 0, [this.#epochs.at(-1)?.mark ?? '', ...members].join(' ')];
  }

  /** Whether it lists exactly these members, by id and weight. */
  lists(members: readonly { readonly id: string; readonly weight: number }[]): boolean {
    return (
      members.length === this.#members.size &&
      members.every(({ id, weight }) => this.#members.get(id)?.weight === weight)
    );
  }

  /** Forgets everything, as when Redis restarts empty. */
  forget(): void {
    this.#members.clear();
    this.#epochs = [];
    this.#latestMs = this.#ttlMs = this.#sweptAtMs = 0;
  }

  #changes({ id, weight }: HeartbeatCall, nowMs: number): string[] {
    const changes: string[] = [];
    if (10 * (nowMs - this.#sweptAtMs) >= this.#ttlMs) {
      this.#sweptAtMs = nowMs;
      for (const [other, { heardAtMs }] of this.#members) {
        if (other === id || heardAtMs + this.#ttlMs > nowMs) continue;
        this.#members.delete(other);
        changes.push(`${other}=0`);
      }
    }
    const own = this.#members.get(id);
    if (weight === 0) {
      if (this.#members.delete(id)) changes.push(`${id}=0`);
      return changes;
    }
    if (own?.weight !== weight) changes.push(`${id}=${String(weight)}`);
    this.#members.set(id, { weight, heardAtMs: nowMs });
    return changes;
  }

  #begin(nowMs: number, by: string, changes: readonly string[]): void {
    const weights = [...this.#members.values()].map(({ weight }) => weight);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    this.begun.push({ atMs: nowMs, spread: total / Math.min(total, ...weights) || 1 });
    const number = Number(this.#epochs.at(-1)?.mark.split(' ')[0] ?? 0) + 1;
    this.#epochs.push({ mark: `${String(number)} ${String(nowMs)} ${by}`, fromMs: nowMs, changes });
    while (this.#epochs.length > 1) {
      const next = this.#epochs[1] as Epoch;
      const isLong = this.#epochs.map(textOf).join(';').length > MAX_BYTES;
      if (!isLong && next.fromMs + 10 * this.#ttlMs > nowMs) break;
      this.#epochs.shift();
    }
  }
}

function textOf({ mark, changes }: Epoch): string {
  return [mark, ...changes].join(' ');
}
