import type { Decision, PolicyDecision } from '@sluice/core';
import { encodeSubject, parseDuration, writtenDuration } from '@sluice/core/spi';
import { canonicalAddress } from '@sluice/http/spi';
import { PageProblem } from './exchange.ts';
import { reasonOf, textOf, type Fields } from './fields.ts';
import type { History } from './history.ts';
import type { KeyNames } from './key-names.ts';
import type { KnownLimit } from './limits.ts';
import type { CountedKey } from './recorder.ts';

/** The state of a key under one limit. */
export interface KeyState {
  readonly id: string;
  readonly limiter: string;
  readonly key: string;
  readonly outcome: Decision['outcome'];
  /** When one more unit is allowed, by the store's clock; null: never, or it is allowed now. */
  readonly retryAtMs: number | null;
  readonly atMs: number;
  readonly policies: readonly PolicyState[];
}

/** What a key has used of a policy. */
export interface PolicyState extends Pick<PolicyDecision, 'name' | 'limit' | 'used' | 'remaining' | 'windowMs'> {
  /** When one more unit than `remaining` can be had; null when there is no more to have. */
  readonly nextAtMs: number | null;
  /** When it is as if the key had never been used. */
  readonly resetAtMs: number;
}

const LONGEST_KEY = 8_192;
const LONGEST_BLOCK_MS = 366 * 86_400_000;
const MOST_LIMITS = 200;
/** By how many bits of an IPv6 address limiters count: see `byIp`. */
const IPV6_PREFIXES = [64, 56, 48, 128] as const;
const EDIT_FIELDS = ['id', 'by', 'reason'];

/** Looks keys up, blocks and unblocks them, and forgets what they have used. */
export class KeyActions {
  static readonly fields: Readonly<Record<string, readonly string[]>> = {
    key: ['key', 'id'],
    block: [...EDIT_FIELDS, 'duration'],
    unblock: EDIT_FIELDS,
    reset: EDIT_FIELDS,
  };
  readonly #names: KeyNames;
  readonly #history: History;
  readonly #limits: () => readonly KnownLimit[];

  constructor(names: KeyNames, history: History, limits: () => readonly KnownLimit[]) {
    this.#names = names;
    this.#history = history;
    this.#limits = limits;
  }

  /** The state of a key that was shown, or of a text under every limit; an address in each form that limiters count. */
  async states(fields: Fields): Promise<readonly KeyState[]> {
    if (fields['id'] !== undefined) return [await this.#state(this.#shown(fields))];
    const text = textOf(fields, 'key', LONGEST_KEY);
    const keys = formsOf(text).flatMap((key) =>
      this.#limits()
        .slice(0, MOST_LIMITS)
        .map(({ core, limit }): CountedKey => {
          const shown = { key: key.slice(0, 256), length: key.length, subject: encodeSubject(key) };
          return { core, limit, policy: '', ...shown };
        }),
    );
    const states = await Promise.all(keys.map(async (key) => this.#state(key)));
    const isUsed = ({ outcome, policies }: KeyState): boolean =>
      outcome === 'blocked' || policies.some(({ used }) => used > 0);
    const used = states.filter(isUsed);
    if (used.length > 0) return used;
    // Of an address the form of `byIp()`: a block of the text itself would be one that no limiter looks for.
    const subject = encodeSubject(canonicalAddress(text.trim(), IPV6_PREFIXES[0]) ?? text);
    return states.filter((_, i) => keys[i]?.subject === subject);
  }

  async block(fields: Fields, operator: string | undefined): Promise<KeyState> {
    const duration = textOf(fields, 'duration', 20);
    const durationMs = parseDuration(duration, 'duration', 'SLUICE_OPTION_INVALID');
    if (durationMs > LONGEST_BLOCK_MS) throw new PageProblem(400, 'a block lasts at most a year; nothing was done');
    return this.#edit(fields, operator, 'block', { durationMs, detail: `for ${writtenDuration(durationMs)}` });
  }

  async unblock(fields: Fields, operator: string | undefined): Promise<KeyState> {
    return this.#edit(fields, operator, 'unblock', { detail: '' });
  }

  async reset(fields: Fields, operator: string | undefined): Promise<KeyState> {
    return this.#edit(fields, operator, 'reset', { detail: 'forgot what it has used' });
  }

  async #edit(
    fields: Fields,
    operator: string | undefined,
    action: 'block' | 'unblock' | 'reset',
    { durationMs = 0, detail }: { readonly durationMs?: number; readonly detail: string },
  ): Promise<KeyState> {
    const { by, reason } = reasonOf(fields, operator);
    const key = this.#shown(fields);
    const { core, limit, subject } = key;
    const part = { limit, subject, cost: 0 };
    const before = await this.#state(key);
    await core.edit([action === 'block' ? { op: 'block', part, durationMs, reset: false } : { op: action, part }]);
    const state = await this.#state(key);
    // Not believed before it is seen: a key of another form would say the same of another state.
    if (
      (action === 'block') !== (state.outcome === 'blocked') &&
      (action !== 'reset' || before.outcome !== 'blocked')
    ) {
      throw new PageProblem(409, `the store took the ${action}, and the key is ${state.outcome} all the same`);
    }
    this.#history.add({ by, reason, action, detail, target: `${this.#names.textOf(key)} of ${core.name}` });
    return state;
  }

  #shown(fields: Fields): CountedKey {
    const key = this.#names.find(textOf(fields, 'id', 100));
    if (key !== undefined) return key;
    throw new PageProblem(404, 'this key was not shown lately: look it up again; nothing was done');
  }

  async #state(key: CountedKey): Promise<KeyState> {
    const { core, limit, subject } = key;
    const decision = await core.decide('peek', [{ limit, subject, cost: 1 }], 'throw');
    const { outcome, retryAfterMs, atMs, policies } = decision;
    return {
      id: this.#names.idOf(key),
      limiter: core.name,
      key: this.#names.textOf(key),
      outcome,
      retryAtMs: retryAfterMs === null || retryAfterMs === 0 ? null : atMs + retryAfterMs,
      atMs,
      policies: policies.map(({ name, limit: most, used, remaining, windowMs, nextAfterMs, resetAfterMs }) => ({
        ...{ name, limit: most, used, remaining, windowMs },
        nextAtMs: nextAfterMs === null ? null : atMs + nextAfterMs,
        resetAtMs: atMs + resetAfterMs,
      })),
    };
  }
}

/** The text itself and, of an address, the forms that limiters count. */
function formsOf(text: string): readonly string[] {
  const forms = IPV6_PREFIXES.flatMap((bits) => canonicalAddress(text.trim(), bits) ?? []);
  return [...new Set([text, ...forms])];
}
