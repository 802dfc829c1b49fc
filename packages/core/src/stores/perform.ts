import { compile, type Rule } from '../policies/index.ts';
import {
  BLOCK,
  change,
  CHARGE,
  decide,
  figures,
  GIVE,
  PEEK,
  RENEW,
  RESET,
  TAKE,
  TRY,
  type Part,
} from '../program/decide.ts';
import { type Nums, unused } from '../program/numbers.ts';
import type { Answer, Ask, Figures, Op } from './store.ts';

/** The operations as the program numbers them. */
export const OPS: Readonly<Record<Op, number>> = {
  take: TAKE,
  peek: PEEK,
  try: TRY,
  give: GIVE,
  charge: CHARGE,
  reset: RESET,
  block: BLOCK,
  renew: RENEW,
};

/** How long a state is kept after its end, so that a clock that steps back finds it again. */
export const KEPT_MS = 30_000;

/** What a key holds: the state of one kind of policy, until when the key is blocked, 0 if it is not, and its last reset. */
export class Held {
  /** The rule of the policy that wrote the state, or of any policy of its kind. */
  rule: Pick<Rule, 'kind' | 'family'>;
  s: Nums;
  blocked: number;
  /** The last reset that dropped units which have not expired yet, and when they would. */
  reset: { readonly at: number; readonly endsAt: number } | undefined;
  /**
   * Whether it was written since a memory store last looked for keys to forget; undefined once the key is forgotten.
   */
  isRecent: boolean | undefined;

  constructor(rule: Pick<Rule, 'kind' | 'family'>, s: Nums, blocked: number, resetAt = 0, resetEnd = 0) {
    this.rule = rule;
    this.s = s;
    this.blocked = blocked;
    this.reset = resetAt > 0 ? { at: resetAt, endsAt: resetEnd } : undefined;
    this.isRecent = false;
  }
}

/** When a key will be as if never used; 0 if it already is. */
export function readEnd({ rule, s, blocked, reset }: Held): number {
  return Math.max(s.length === 0 ? 0 : rule.family.endsAt(s), reset?.endsAt ?? 0, blocked);
}

/** Keys in this process: those of a memory store, or those whose values another store has just read. */
export interface Keys {
  get(key: string): Held | undefined;
  /** Called for new keys; existing ones are changed in place. */
  set(key: string, held: Held): unknown;
}

/**
 * Where a limiter remembers a key, and a memory store what the key holds: a second lookup would take a fifth of a
 * decision.
 */
export interface KnownKey {
  readonly key: string;
  keys: Keys | undefined;
  held: Held | undefined;
}

interface KnownAsk extends Ask {
  readonly known?: KnownKey | undefined;
}

/** An ask together with what its key holds. */
interface KeyPart extends Part {
  rule: Rule;
  held: Held | undefined;
}

/**
 * The parts of the request being decided. They are created once and reused, because nothing called meanwhile can ask
 * again; new parts for each request would be a fifth of a decision's allocations.
 */
const parts: KeyPart[] = [];
const made: KeyPart[] = [];

/**
 * Lets the program decide over keys at the instant `now`, and writes what it changes.
 *
 * @param keeps - Whether the keys hold the same objects the next time, until they are marked as forgotten.
 */
export function perform(keys: Keys, op: Op, asks: readonly Ask[], now: number, keeps = false): Answer {
  const code = OPS[op];
  const { length } = asks;
  if (parts.length > length) parts.length = length;
  for (let i = 0; i < length; i++) {
    const { key, policy, cost, holder = 0, known } = asks[i] as KnownAsk;
    const rule = compile(policy);
    let held = known?.keys === keys ? known.held : undefined;
    if (held?.isRecent === undefined) {
      held = keys.get(key);
      if (keeps && known !== undefined) {
        known.keys = keys;
        known.held = held;
      }
    }
    const part = (made[i] ??= makePart(rule));
    parts[i] = part;
    part.rule = rule;
    part.f = rule.family;
    part.p = rule.numbers;
    part.held = held;
    part.cost = cost;
    part.holder = holder;
    // A state of another kind is treated as empty.
    part.s = held !== undefined && held.rule.kind === rule.kind ? held.s : unused();
    part.blocked = held === undefined ? 0 : held.blocked;
    part.resetAt = held?.reset === undefined ? 0 : held.reset.at;
    part.resetEnd = held?.reset === undefined ? 0 : held.reset.endsAt;
    part.delay = 0;
    part.changed = false;
  }
  if (code < GIVE) decide(parts, code, now);
  const isOnce = code >= GIVE && asks[0]?.isOnce === true;
  const isDone = isOnce && !(decide(parts.slice(0, 1), TAKE, now) && (asks[1]?.until ?? 0) > now);
  const answered = new Array<Figures>(length); // not pushed to: V8 makes room for 17 then
  for (let i = 0; i < length; i++) {
    const part = parts[i] as KeyPart;
    const ask = asks[i] as Ask;
    if (code >= GIVE && !isDone && ask.isOnce !== true) change(part, code, ask.until ?? 0, now);
    if (part.changed) write(keys, ask, part, code);
    answered[i] = figures(part, now);
  }
  return { atMs: now, figures: answered };
}

function makePart(rule: Rule): KeyPart {
  return {
    rule,
    held: undefined,
    f: rule.family,
    p: rule.numbers,
    cost: 0,
    holder: 0,
    s: unused(),
    blocked: 0,
    resetAt: 0,
    resetEnd: 0,
    endsAt: 0,
    wait: 0,
    delay: 0,
    changed: false,
  };
}

function write(keys: Keys, ask: Ask, { rule, held, s, blocked, resetAt, resetEnd }: KeyPart, code: number): void {
  if (held === undefined) {
    if (s.length === 0 && blocked === 0) return;
    const added = new Held(rule, s, blocked);
    // Reading a character makes V8 flatten a concatenated key. Otherwise it would keep the parts, at 44 bytes a key.
    added.isRecent = ask.key.charCodeAt(0) === 0;
    keys.set(ask.key, added);
    return;
  }
  held.isRecent = true;
  held.blocked = blocked;
  if (resetAt !== (held.reset?.at ?? 0) || resetEnd !== (held.reset?.endsAt ?? 0)) {
    held.reset = resetAt > 0 ? { at: resetAt, endsAt: resetEnd } : undefined;
  }
  // A block keeps a state of another kind, unless it also resets the key.
  if (code === BLOCK && ask.cost === 0 && held.rule.kind !== rule.kind) return;
  held.rule = rule;
  // Copied in place, so that no old object refers to a young list: replacements are garbage at once.
  if (held.s !== s && held.s.length === s.length) for (let i = 0; i < s.length; i++) held.s[i] = s[i] as number;
  else held.s = s;
}
