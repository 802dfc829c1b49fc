import type { Decision, PolicyDecision } from '@sluice/core';
import { canonicalAddress } from '@sluice/core/http';
import { editKeys, parseDuration, readSubject, writeDuration, type Want } from '@sluice/core/spi';
import type { PageChange } from './changes.ts';
import { PageProblem } from './exchange.ts';
import { readReason, readText, type Fields } from './fields.ts';
import { MAX_ID, readId, recordKey, showKey, writeId, type FindLimits } from './key-names.ts';
import { keyUnder, limitId, type LimitedKey } from './limits.ts';
import { endOverride, readManaged, setOverride, type ManagedNumbers } from './overrides.ts';

/** The state of a key under one limit. */
export interface KeyState {
  readonly id: string;
  readonly limiter: string;
  readonly key: string;
  readonly outcome: Decision['outcome'];
  /** When the next request is allowed, by the store's clock; null: never, or it is allowed now. */
  readonly retryAtMs: number | null;
  readonly atMs: number;
  /** Null if the numbers are in code. */
  readonly managed: ManagedNumbers | null;
  /** Empty if the numbers depend on the request, and this process has not denied the key lately. */
  readonly policies: readonly PolicyDecision[];
}

const MAX_KEY = 4_096;
const MAX_LIMITS = 200;
const MAX_LENGTH_MS = 366 * 86_400_000;
/** Operators wait longer than requests do. */
const PATIENCE_MS = 3_000;
/** By how many bits of an IPv6 address limiters count: see `byIp`. */
const IPV6_PREFIXES = [64, 56, 48, 128] as const;
const EDIT = ['id', 'by', 'reason'];

/** What can be done, each with its fields. */
export const ACTIONS = {
  key: ['key', 'id'],
  block: [...EDIT, 'duration'],
  unblock: EDIT,
  reset: EDIT,
  override: [...EDIT, 'before', 'options', 'duration'],
  'end-override': [...EDIT, 'before'],
} as const satisfies Record<string, readonly string[]>;

export type Action = keyof typeof ACTIONS;

/** Looks keys up, blocks and unblocks them, forgets what they have used, and gives them other numbers. */
export class KeyActions {
  readonly #find: FindLimits;
  readonly #log: (change: PageChange) => void;

  constructor(find: FindLimits, log: (change: PageChange) => void) {
    this.#find = find;
    this.#log = log;
  }

  /** The states of a key that was shown, or of a text under every limit; an address in each form that limiters count. */
  async look(fields: Fields): Promise<readonly KeyState[]> {
    if (fields['id'] !== undefined) return [await this.#read(readId(readText(fields, 'id', MAX_ID), this.#find))];
    const text = readText(fields, 'key', MAX_KEY);
    const addresses = IPV6_PREFIXES.flatMap((bits) => canonicalAddress(text.trim(), bits) ?? []);
    const keys = [...new Set([text, ...addresses])].flatMap((key) => {
      const found = this.#find(readSubject(key)).map((known) => keyUnder(known, key));
      const id = ({ core, limit }: LimitedKey): string => limitId(core, limit);
      const isFirst = (one: LimitedKey, at: number): boolean =>
        at === found.findIndex((other) => other.core.store === one.core.store && id(other) === id(one));
      return found.filter(isFirst).slice(0, MAX_LIMITS);
    });
    const states = await Promise.all(keys.map((key) => this.#read(key)));
    const isUsed = ({ outcome, policies }: KeyState): boolean =>
      outcome === 'blocked' || policies.some(({ used }) => used > 0);
    // An unused address is taken in the form of `byIp()`: no limiter would look for a block of the text itself.
    return states.some(isUsed)
      ? states.filter(isUsed)
      : states.filter((_, i) => keys[i]?.key === (addresses[0] ?? text));
  }

  /** Does an action to a key, and reads its state afterwards. */
  async act(action: Exclude<Action, 'key'>, fields: Fields, operator: string | undefined): Promise<KeyState> {
    const reason = readReason(fields, operator);
    const key = readId(readText(fields, 'id', MAX_ID), this.#find);
    const hasLength = action === 'block' || (action === 'override' && (fields['duration'] ?? '') !== '');
    const lengthMs = hasLength ? readLength(fields) : undefined;
    let detail = lengthMs === undefined ? '' : `for ${writeDuration(lengthMs)}`;
    let late: Error | undefined;
    if (action === 'override') detail = `${await setOverride(key, fields, reason, lengthMs)} ${detail}`.trim();
    else if (action === 'end-override') detail = await endOverride(key, fields, reason);
    else {
      const edited = editKeys(key.core, action === 'reset' ? 'reset' : 'block', [wantOf(key)], { until: lengthMs ?? 0 });
      await edited.catch((error: unknown) => {
        if (action === 'reset' || (error as { code?: unknown }).code !== 'SLUICE_STORE_TIMEOUT') throw error;
        late = error as Error;
      });
    }
    const state = await this.#read(key);
    // Not believed before it is seen: an answer may be late, and a store may lie.
    const isBlocked = state.outcome === 'blocked';
    if (action === 'block' ? !isBlocked : action === 'unblock' && isBlocked) {
      throw late ?? new PageProblem(409, `the store took the ${action}, and the key is ${state.outcome} all the same`);
    }
    const name = action === 'override' ? 'set override' : action === 'end-override' ? 'end override' : action;
    this.#log({ atMs: Date.now(), action: name, target: recordKey(key), detail, ...reason });
    return state;
  }

  /** The state of a key under its limit. */
  async #read(key: LimitedKey): Promise<KeyState> {
    const { core, isUnsure } = key;
    // Without its numbers only a block is known.
    const want = { ...wantOf(key), cost: isUnsure ? 0 : 1 };
    const endMs = performance.now() + PATIENCE_MS;
    const decision = await core.decide('peek', [want], { endMs, onStoreError: 'throw', isSilent: true });
    const { outcome, retryAfterMs, atMs } = decision;
    return {
      id: writeId(key),
      limiter: core.name,
      key: showKey(key),
      outcome,
      managed: await readManaged(key),
      retryAtMs: retryAfterMs === null || retryAfterMs === 0 ? null : atMs + retryAfterMs,
      atMs,
      policies: isUnsure ? [] : decision.policies,
    };
  }
}

function wantOf({ limit, key, subject }: LimitedKey): Want {
  return { limit, key, subject, cost: 0, holder: 0, isNamed: false };
}

/** @throws PageProblem 400, or PolicyError, for anything but a duration of at most a year. */
function readLength(fields: Fields): number {
  const lengthMs = parseDuration(readText(fields, 'duration', 20), 'duration', 'SLUICE_OPTION_INVALID');
  if (lengthMs <= MAX_LENGTH_MS) return lengthMs;
  throw new PageProblem(400, `duration must be at most 366d, got ${writeDuration(lengthMs)}; nothing was done`);
}
