import { countsDenied, type NamedPolicy } from '../../engine/policy.ts';
import { partsOf, type Limit, type Part, type StoreRequest } from '../../engine/store.ts';
import { externalStateKey, identityKey, redisKey } from './redis-key.ts';
import { keptMs, writePolicy } from './write-policy.ts';

/** One call of the general script: what goes out, and what is needed to read what comes back. */
export interface Call {
  readonly keys: readonly string[];
  /** Behind the others: the keys of external states, and those of the identities of refunds. */
  readonly furtherKeys: readonly string[];
  readonly args: readonly string[];
  readonly requests: readonly StoreRequest[];
  /** Per request and part, the index of its key in `keys`. */
  readonly keyIndexes: readonly (readonly number[])[];
  /** Per key, a limit that uses it: its schema is part of the key, so any of them can read the value. */
  readonly limits: readonly Limit[];
  readonly checking: boolean;
  /** Whether any limit has policy versions. */
  readonly hasPolicyVersions: boolean;
}

/**
 * Writes requests as lua/call.lua and general.lua read them.
 *
 * @param hasIdentities - Whether a refund gets an identity, so that it counts once although the client sends it again.
 */
export function writeCall(
  requests: readonly StoreRequest[],
  prefix: string,
  checking: boolean,
  hasIdentities = false,
): Call {
  const flags = flagsOf(requests, checking, hasIdentities);
  const letters = lettersOf(flags);
  const keys = new KeysSection(prefix, flags);
  const plans = new PlansSection(flags, letters);
  const keyIndexes: (readonly number[])[] = [];
  const written: string[] = [];
  const identityKeys: string[] = [];
  for (const request of requests) {
    const parts = partsOf(request);
    const indexes = parts.map((part) => keys.indexOf(part));
    keyIndexes.push(indexes);
    if (isEdit(request)) letters.add(EDITS);
    if (flags.hasIdentities && request.op === 'refund') {
      identityKeys.push(identityKey(keys.keys[indexes[0] as number] as string));
    }
    const args = parts.flatMap((part, i) =>
      writePart(
        request,
        part,
        [String((indexes[i] ?? 0) + 1), String(plans.numberOf(part.limit))],
        flags,
        identityKeys.length,
      ),
    );
    written.push(request.op, String(args.length), ...args);
  }
  const identities = flags.hasIdentities ? [String(identityKeys.length)] : [];
  const counts = [String(plans.count), String(requests.length), ...identities, ...keys.externalArgs()];
  return {
    keys: keys.keys,
    furtherKeys: [...keys.externalKeys, ...identityKeys],
    args: [[...letters].join(''), ...counts, ...plans.args, ...written],
    requests,
    keyIndexes,
    limits: keys.limits,
    checking,
    hasPolicyVersions: flags.hasPolicyVersions,
  };
}

/** The optional features of a call. Each adds a letter to the first argument, after the letters of the algorithms. */
const LETTERS = {
  checking: 'C',
  hasPolicyVersions: 'V',
  escalates: 'X',
  countsDenied: 'N',
  /** Whether the states of any policy have keys of their own. */
  hasExternal: 'D',
  hasIdentities: 'I',
};
type CallFlags = Readonly<Record<keyof typeof LETTERS, boolean>>;

const EDITS = 'E';

function flagsOf(requests: readonly StoreRequest[], checking: boolean, hasIdentities: boolean): CallFlags {
  const hasLimit = (matches: (limit: Limit) => boolean): boolean =>
    requests.some((request) => partsOf(request).some(({ limit }) => matches(limit)));
  return {
    checking,
    hasPolicyVersions: hasLimit(({ policyVersion }) => policyVersion !== undefined),
    escalates: consumes(requests, ({ escalation }) => escalation !== undefined),
    countsDenied: consumes(requests, ({ policies }) => policies.some(countsDenied)),
    hasExternal: hasLimit((limit) => externalPoliciesOf(limit).length > 0),
    hasIdentities: hasIdentities && requests.some(({ op }) => op === 'refund'),
  };
}

function consumes(requests: readonly StoreRequest[], matches: (limit: Limit) => boolean): boolean {
  return requests.some((request) => request.op === 'consume' && request.parts.some(({ limit }) => matches(limit)));
}

function lettersOf(flags: CallFlags): Set<string> {
  const letters = new Set<string>();
  for (const flag in LETTERS) {
    if (flags[flag as keyof CallFlags]) letters.add(LETTERS[flag as keyof CallFlags]);
  }
  return letters;
}

/** KEYS: every key once, and behind them those of external states. */
class KeysSection {
  readonly keys: string[] = [];
  readonly limits: Limit[] = [];
  readonly #prefix: string;
  readonly #hasExternal: boolean;
  readonly #indexOfKey = new Map<string, number>();
  readonly #external = new Map<string, readonly string[]>();

  constructor(prefix: string, { hasExternal }: CallFlags) {
    this.#prefix = prefix;
    this.#hasExternal = hasExternal;
  }

  /** The index of a part's key, which is added when it is new. */
  indexOf({ subject, limit }: Part): number {
    const key = redisKey(this.#prefix, subject, limit.keySuffix);
    let index = this.#indexOfKey.get(key);
    if (index === undefined) {
      index = this.keys.push(key) - 1;
      this.limits.push(limit);
      this.#indexOfKey.set(key, index);
    }
    if (this.#hasExternal) this.#addExternal(key, index, limit);
    return index;
  }

  get externalKeys(): readonly string[] {
    return [...this.#external.keys()];
  }

  /**
   * How many external states there are, and per state its key's index, the kind of its algorithm, and its policy's
   * number.
   */
  externalArgs(): readonly string[] {
    return this.#hasExternal ? [String(this.#external.size), ...[...this.#external.values()].flat()] : [];
  }

  #addExternal(key: string, index: number, limit: Limit): void {
    for (const [kind, policyNumber] of externalPoliciesOf(limit)) {
      this.#external.set(externalStateKey(key, kind, policyNumber), [String(index + 1), kind, policyNumber]);
    }
  }
}

/** The plans: per limit its policies, and what else the script has to know of it, once. */
class PlansSection {
  readonly args: string[] = [];
  readonly #flags: CallFlags;
  readonly #letters: Set<string>;
  readonly #numberOf = new Map<Limit, number>();

  constructor(flags: CallFlags, letters: Set<string>) {
    this.#flags = flags;
    this.#letters = letters;
  }

  get count(): number {
    return this.#numberOf.size;
  }

  /** The number of a limit's plan, counted from 1. The plan is written when it is new. */
  numberOf(limit: Limit): number {
    let number = this.#numberOf.get(limit);
    if (number === undefined) {
      number = this.count + 1;
      this.#numberOf.set(limit, number);
      this.#write(limit);
    }
    return number;
  }

  #write(limit: Limit): void {
    const { args } = this;
    args.push(String(limit.policies.length), String(keptMs(limit)));
    if (this.#flags.hasPolicyVersions) args.push(...writePolicyVersion(limit, this.#letters));
    if (this.#flags.escalates) args.push(...writeEscalation(limit));
    for (const named of limit.policies) args.push(...writePolicy(named, this.#letters));
  }
}

/** One part of a request, behind the numbers of its key and its plan. */
function writePart(
  request: StoreRequest,
  part: Part,
  numbers: readonly string[],
  { hasExternal, hasIdentities }: CallFlags,
  identity: number,
): readonly string[] {
  const args = [...numbers];
  if (hasCost(request, hasExternal)) args.push(String(part.cost));
  if (request.op === 'refund' || request.op === 'charge') {
    args.push(...(request.chargedUntilMs ?? part.limit.policies.map(() => NO_WINDOW)).map(String));
  }
  if (request.op === 'heal') args.push(String(request.byMs ?? Number.MAX_SAFE_INTEGER));
  if (request.op === 'block') args.push(String(request.durationMs), request.reset === true ? '1' : '0');
  if (hasExternal) args.push(part.holder ?? NO_HOLDER);
  if (request.op === 'refund' && hasIdentities) args.push(String(identity));
  if (request.op === 'refund' && request.byMs !== undefined) args.push(String(request.byMs));
  return args;
}

const NO_HOLDER = '0';
const NO_WINDOW = -1;

function isEdit({ op }: StoreRequest): boolean {
  return op !== 'consume' && op !== 'peek';
}

/** Edits of a whole key have no cost, and a peek has one only where the script reads external states. */
function hasCost({ op }: StoreRequest, hasExternal: boolean): boolean {
  return op === 'peek' ? hasExternal : op !== 'reset' && op !== 'block' && op !== 'unblock' && op !== 'heal';
}

type ExternalPolicy = readonly [kind: string, policyNumber: string];
const known = new WeakMap<Limit, readonly ExternalPolicy[]>();

/**
 * The policies whose states have keys of their own, each by the kind of its algorithm and its number: those of a limit,
 * and of the policy versions that it migrates states from.
 */
function externalPoliciesOf(limit: Limit): readonly ExternalPolicy[] {
  let external = known.get(limit);
  if (external === undefined) known.set(limit, (external = findExternalPolicies(limit)));
  return external;
}

function findExternalPolicies({ policies, policyVersion }: Limit): readonly ExternalPolicy[] {
  const found: ExternalPolicy[] = [];
  const addExternal = ({ algorithm }: NamedPolicy, i: number): void => {
    if (algorithm.summarize !== undefined) found.push([algorithm.kind, String(i + 1)]);
  };
  policies.forEach(addExternal);
  for (const earlier of policyVersion?.earlier.values() ?? [])
    if (earlier !== 'unknown') earlier.policies.forEach(addExternal);
  return found;
}

/** Only limits of a single policy have policy versions in Redis: managed ones. */
function writePolicyVersion({ policyVersion }: Limit, letters: Set<string>): readonly string[] {
  if (policyVersion === undefined) return ['0'];
  const written = [String(policyVersion.version), String(policyVersion.earlier.size)];
  for (const [version, earlier] of policyVersion.earlier) {
    written.push(String(version));
    if (earlier === 'unknown') written.push('u');
    else if (earlier.carryOver === 'reset') written.push('r');
    else written.push('k', ...writePolicy(earlier.policies[0] as NamedPolicy, letters));
  }
  return written;
}

function writeEscalation({ escalation }: Limit): readonly string[] {
  if (escalation === undefined) return ['0'];
  const { after, blocksMs, decayMs } = escalation;
  return [blocksMs.length, after, decayMs, ...blocksMs].map(String);
}
