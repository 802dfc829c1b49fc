/** The denials of one key, by docs/guides/escalation.md, as a list of instants. */
export interface ModelRules {
  readonly after: number;
  /** In milliseconds: the first length, which doubles up to a day, or all of them. */
  readonly block: number | readonly number[];
  readonly decay: number;
}

const DAY_MS = 86_400_000n;

export class ModelEscalation {
  readonly #rules: ModelRules;
  /** When it was denied, since the last block. */
  readonly #deniedAtMs: readonly bigint[];
  /** When the blocks ended. */
  readonly #blockEndsMs: readonly bigint[];
  /** The latest of all these instants, those of denials before the last block included. */
  readonly #latestMs: bigint | undefined;

  constructor(
    rules: ModelRules,
    deniedAtMs: readonly bigint[] = [],
    blockEndsMs: readonly bigint[] = [],
    latestMs?: bigint,
  ) {
    this.#rules = rules;
    this.#deniedAtMs = deniedAtMs;
    this.#blockEndsMs = blockEndsMs;
    this.#latestMs = latestMs;
  }

  /** What is not forgotten yet. */
  known(atMs: bigint): ModelEscalation {
    return this.forgottenAfterMs(atMs) === undefined ? new ModelEscalation(this.#rules) : this;
  }

  forgottenAfterMs(atMs: bigint): number | undefined {
    if (this.#latestMs === undefined) return undefined;
    const leftMs = this.#latestMs + BigInt(this.#rules.decay) - atMs;
    return leftMs > 0n ? Number(leftMs) : undefined;
  }

  /** After one more denial, and until when it blocks. */
  denied(atMs: bigint): { readonly after: ModelEscalation; readonly blockedUntilMs: bigint } {
    const before = this.known(atMs);
    const denials = [...before.#deniedAtMs, atMs];
    const later = (instantMs: bigint): bigint =>
      before.#latestMs !== undefined && before.#latestMs > instantMs ? before.#latestMs : instantMs;
    if (denials.length < this.#rules.after) {
      const after = new ModelEscalation(this.#rules, denials, before.#blockEndsMs, later(atMs));
      return { after, blockedUntilMs: 0n };
    }
    const endMs = atMs + this.#lengthMs(before.#blockEndsMs.length);
    const after = new ModelEscalation(this.#rules, [], [...before.#blockEndsMs, endMs], later(endMs));
    return { after, blockedUntilMs: endMs };
  }

  reset(): ModelEscalation {
    return this.#blockEndsMs.length === 0
      ? new ModelEscalation(this.#rules)
      : new ModelEscalation(this.#rules, [], this.#blockEndsMs, this.#latestMs);
  }

  pardoned(): ModelEscalation {
    return new ModelEscalation(this.#rules);
  }

  #lengthMs(before: number): bigint {
    const { block } = this.#rules;
    if (typeof block !== 'number') return BigInt(block[before] ?? (block.at(-1) as number));
    const first = BigInt(block);
    const longest = first > DAY_MS ? first : DAY_MS;
    const doubled = first << BigInt(before);
    return doubled < longest ? doubled : longest;
  }
}
