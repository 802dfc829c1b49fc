import type { Decision, PolicyDecision } from '@sluice/old-core';
import { encodeSubject, parseDuration, writtenDuration } from '@sluice/old-core/spi';
import { canonicalAddress } from '@sluice/old-http/spi';
import { PageProblem } from './exchange.ts';
import { reasonOf, textOf, type Fields } from './fields.ts';
import type { History } from './history.ts';
import type { KeyNames } from './key-names.ts';
import type { KnownLimit } from './limits.ts';
import { managedNumbers, type ManagedNumbers } from './overrides.ts';
import { keyUnder, type CountedKey } from './recorder.ts';

/** The state of a key under one limit. */
export interface KeyState {
  readonly id: string;
  readonly limiter: string;
  readonly key: string;
  readonly outcome: Decision['outcome'];
  /** When one more unit is allowed, by the store's clock; null: never, or it is allowed now. */
  readonly retryAtMs: number | null;
  readonly atMs: number;
  /** Null where the numbers are in code. */
  readonly managed: ManagedNumbers | null;
  /** Empty where the numbers depend on the request, and this process has not counted the key. */
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
  readonly #seen: (subject: string) => readonly CountedKey[];

  /** @param seen - The keys with a subject that were counted, whose limits are those that decided. */
  constructor(
    names: KeyNames,
    history: History,
    limits: () => readonly KnownLimit[],
    seen: (subject: string) => readonly CountedKey[],
  ) {
    this.#names = names;
    this.#history = history;
    this.#limits = limits;
    this.#seen = seen;
  }

  /** The state of a key that was shown, or of a text under every limit; an address in each form that limiters count. */
  async states(fields: Fields): Promise<readonly KeyState[]> {
    if (fields['id'] !== undefined) return [await this.state(this.#names.named(fields))];
    const text = textOf(fields, 'key', LONGEST_KEY);
    const limits = this.#limits().slice(0, MOST_LIMITS);
    const keys = formsOf(text).flatMap((key) => {
      const shown = { key: key.slice(0, 256), length: key.length, subject: encodeSubject(key), policy: '' };
      const seen = this.#seen(shown.subject);
      return [...seen, ...limits.map((known) => keyUnder(known, shown))].filter(isFirst);
    });
    const states = await Promise.all(keys.map(async (key) => this.state(key)));
    const isUsed = ({ outcome, policies }: KeyState): boolean =>
      outcome === 'blocked' || policies.some(({ used }) => used > 0);
    const used = states.filter(isUsed);
    if (used.length > 0) return used;
    // An address is taken in the form of `byIp()`: no limiter would look for a block of the text itself.
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
    const key = this.#names.named(fields);
    const { core, limit, subject } = key;
    const part = { limit, subject, cost: 0 };
    const before = await this.state(key);
    await core.edit([action === 'block' ? { op: 'block', part, durationMs, reset: false } : { op: action, part }]);
    const state = await this.state(key);
    // Not believed before it is seen: a key of another form would say the same of another state.
    if (
      (action === 'block') !== (state.outcome === 'blocked') &&
      (action !== 'reset' || before.outcome !== 'blocked')
    ) {
      throw new PageProblem(409, `the store took the ${action}, and the key is ${state.outcome} all the same`);
    }
    const target = `${this.#names.textOf(key)} of ${core.name}`;
    this.#history.add({ by, reason, action, detail, target }, `${this.#names.sharedTextOf(key)} of ${core.name}`);
    return state;
  }

  /** The state of a key under its limit. */
  async state(key: CountedKey): Promise<KeyState> {
    const { core, limit, subject, isUnsure } = key;
    // Without its numbers only a block is known.
    const decision = await core.decide('peek', [{ limit, subject, cost: isUnsure ? 0 : 1 }], 'throw');
    const { outcome, retryAfterMs, atMs } = decision;
    const policies = isUnsure ? [] : decision.policies;
    return {
      id: this.#names.idOf(key),
      limiter: core.name,
      key: this.#names.textOf(key),
      outcome,
      managed: await managedNumbers(key),
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

/** Whether no key before it is the same one: of its limiter and with its name in the store. */
function isFirst({ core, limit }: CountedKey, at: number, keys: readonly CountedKey[]): boolean {
  return keys.findIndex((one) => one.core.store === core.store && one.limit.keySuffix === limit.keySuffix) === at;
}
