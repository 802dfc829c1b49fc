import type { Decision, LimitEvent, PolicyDecision } from '@sluice/core';
import { canonicalAddress } from '@sluice/core/http';
import { editKeys, parseDuration, readSubject, findTimeline, writeDuration, type Want } from '@sluice/core/spi';
import { PageProblem } from './exchange.ts';
import { readReason, readText, type Fields, type Reason } from './fields.ts';
import { MAX_ID, readId, showKey, writeId, type FindLimits } from './key-names.ts';
import { keyUnder, limitId, type LimitedKey } from './limits.ts';
import { planEnd, planOverride, readManaged, type ManagedNumbers, type Plan } from './overrides.ts';
import type { Denial } from './shared/record.ts';

/** The state of a key under one limit. */
export interface KeyState {
  readonly id: string;
  readonly limiter: string;
  readonly key: string;
  readonly outcome: Decision['outcome'];
  /** `local`: the store does not answer, and this process decides by itself. */
  readonly source: string;
  /** When the next request is allowed, by the store's clock; null: never, or it is allowed now. */
  readonly retryAtMs: number | null;
  readonly atMs: number;
  /** Null if the numbers are in code. */
  readonly managed: ManagedNumbers | null;
  /** Empty if the numbers depend on the request, and this process has not denied the key lately. */
  readonly policies: readonly PolicyDecision[];
  /** By minute of the last hour, newest first. */
  readonly denials: readonly (Denial & { readonly policy: string })[];
  /** What changed or broke for it, the last first. */
  readonly events: readonly LimitEvent[];
}

const MAX_KEY = 4_096;
const MAX_LIMITS = 200;
const MAX_EVENTS = 20;
const MAX_LENGTH_MS = 366 * 86_400_000;
/** Operators wait longer than requests do. */
const PATIENCE_MS = 3_000;
/** How many bits of an IPv6 address limiters may count by: see `byIp`. */
const IPV6_PREFIXES = [64, 56, 48, 128] as const;

/** What can be done. */
export const ACTIONS = ['key', 'block', 'unblock', 'reset', 'override', 'end-override'] as const;
export type Action = (typeof ACTIONS)[number];
type Change = Exclude<Action, 'key'>;

/** What a page knows of keys beside their stores. */
export interface Known {
  readonly find: FindLimits;
  readonly denialsOf: (key: LimitedKey) => KeyState['denials'];
}

/** Looks up, blocks, unblocks and resets keys, and overrides their numbers. */
export class KeyActions {
  readonly #known: Known;
  readonly #log: (change: LimitEvent) => void;

  constructor(known: Known, log: (change: LimitEvent) => void) {
    this.#known = known;
    this.#log = log;
  }

  /**
   * The states of a key under all its limits: for a key that was shown, under its own limit first; for a text, in each
   * form in which limiters count it, if it is an address.
   */
  async look(fields: Fields): Promise<readonly KeyState[]> {
    const { find } = this.#known;
    if (fields['id'] !== undefined) {
      const shown = readId(readText(fields, 'id', MAX_ID), find);
      const { subject, key, length } = shown;
      const all = keepFirstOfEach([shown, ...find(subject).map((known) => ({ ...known, subject, key, length }))]);
      const [own, ...others] = await this.#readAll(all);
      return [own as KeyState, ...others.filter(isUsed)];
    }
    const text = readText(fields, 'key', MAX_KEY);
    const addresses = IPV6_PREFIXES.flatMap((bits) => canonicalAddress(text.trim(), bits) ?? []);
    const keys = [...new Set([text, ...addresses])].flatMap((key) =>
      keepFirstOfEach(find(readSubject(key)).map((known) => keyUnder(known, key))),
    );
    const states = await this.#readAll(keys);
    // An unused address is taken in the form of `byIp()`, because no limiter would look for a block of the text itself.
    return states.some(isUsed)
      ? states.filter(isUsed)
      : states.filter((_, i) => keys[i]?.key === (addresses[0] ?? text));
  }

  /**
   * Makes a change, and reads the state back to confirm it, because an answer may be late or wrong. While the store
   * does not answer, a block applies in this process.
   */
  async act(action: Change, fields: Fields, operator: string | undefined): Promise<KeyState> {
    const reason = readReason(fields, operator);
    const key = readId(readText(fields, 'id', MAX_ID), this.#known.find);
    const { make, isDone, ...numbers } = await this.#plan(action, key, fields, reason);
    let failure: Error | undefined;
    try {
      await make();
    } catch (error) {
      if ((error as Error).name !== 'StoreError') throw error;
      failure = error as Error;
    }
    const state = await this.#read(key);
    if (!isDone(state)) {
      throw failure ?? new PageProblem(409, `the store accepted the ${action}, but the key is still ${state.outcome}`);
    }
    const what = action === 'end-override' ? 'removeOverride' : action;
    const place = { limit: key.core.nameInTimeline(key.limit), key: key.subject };
    const event = { atMs: Date.now(), endAtMs: null, what, ...place, ...numbers, ...reason } as const;
    // What has failed has told nothing.
    if (failure !== undefined) void findTimeline(key.core.store).add(event);
    this.#log(event);
    return state;
  }

  async #plan(action: Change, key: LimitedKey, fields: Fields, reason: Reason): Promise<Plan> {
    if (action === 'end-override') return planEnd(key, reason);
    const hasLength = action === 'block' || (action === 'override' && (fields['duration'] ?? '') !== '');
    const lengthMs = hasLength ? readLength(fields) : undefined;
    if (action === 'override') return planOverride(key, fields['options'], reason, lengthMs);
    const before = action === 'reset' ? await this.#read(key) : undefined;
    const usedBefore = (i: number): number => before?.policies[i]?.used ?? 0;
    const edit = { until: lengthMs ?? 0, ...reason, endMs: performance.now() + PATIENCE_MS };
    const isDone = ({ outcome, policies }: KeyState): boolean =>
      action === 'reset'
        ? policies.every(({ used }, i) => used === 0 || used < usedBefore(i))
        : (outcome === 'blocked') === (action === 'block');
    const op = action === 'reset' ? action : 'block';
    const make = (): Promise<void> => editKeys(key.core, op, [makeWant(key)], edit);
    const after = lengthMs === undefined ? null : `for ${writeDuration(lengthMs)}`;
    return { before: null, after, make, isDone };
  }

  #readAll(keys: readonly LimitedKey[]): Promise<readonly KeyState[]> {
    return Promise.all(keys.slice(0, MAX_LIMITS).map((key) => this.#read(key)));
  }

  /** The state of a key under its limit. */
  async #read(key: LimitedKey): Promise<KeyState> {
    const { core, isUnsure } = key;
    // Without its numbers, only a block is known.
    const want = { ...makeWant(key), cost: isUnsure ? 0 : 1 };
    const endMs = performance.now() + PATIENCE_MS;
    const decision = await core.decide('peek', [want], { endMs, onStoreError: 'local', isSilent: true });
    const { outcome, source, retryAfterMs, atMs } = decision;
    return {
      id: writeId(key),
      limiter: core.name,
      key: showKey(key),
      outcome,
      source,
      managed: source === 'local' ? null : await readManaged(key),
      retryAtMs: retryAfterMs === null || retryAfterMs === 0 ? null : atMs + retryAfterMs,
      atMs,
      policies: isUnsure ? [] : decision.policies,
      denials: this.#known.denialsOf(key),
      events: listEvents(key),
    };
  }
}

/** Those of its limiter and of its managed policy. */
function listEvents({ core, limit, subject }: LimitedKey): readonly LimitEvent[] {
  const timeline = findTimeline(core.store);
  const events = [core.name, limit.mark?.name ?? core.name].flatMap((name) => timeline.select(name, subject));
  return [...new Set(events)].toSorted((a, b) => b.atMs - a.atMs).slice(0, MAX_EVENTS);
}

function isUsed({ outcome, policies, denials }: KeyState): boolean {
  return outcome === 'blocked' || denials.length > 0 || policies.some(({ used }) => used > 0);
}

/** Keeps each limit once: the first one is the one that decided. */
function keepFirstOfEach(keys: readonly LimitedKey[]): readonly LimitedKey[] {
  const areOne = (one: LimitedKey, other: LimitedKey): boolean =>
    one.core.store === other.core.store && limitId(one.core, one.limit) === limitId(other.core, other.limit);
  return keys.filter((one, i) => i === keys.findIndex((other) => areOne(one, other)));
}

function makeWant({ limit, key, subject }: LimitedKey): Want {
  return { limit, key, subject, cost: 0, holder: 0, isNamed: false };
}

/** @throws PageProblem 400, or PolicyError, for anything but a duration of at most a year. */
function readLength(fields: Fields): number {
  const lengthMs = parseDuration(readText(fields, 'duration', 20), 'duration', 'SLUICE_OPTION_INVALID');
  if (lengthMs <= MAX_LENGTH_MS) return lengthMs;
  throw new PageProblem(400, `duration must be at most 366d, got ${writeDuration(lengthMs)}; nothing was done`);
}
