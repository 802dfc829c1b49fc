import { slidingWindow } from '../algorithms/sliding-window/policy.ts';
import type { Decision } from '../decision.ts';
import type { Duration } from '../duration.ts';
import { PolicyError, shown } from '../errors.ts';
import { encodeSubject } from '../key.ts';
import { CORE_OPTIONS, LimiterCore, checkCost } from '../limiter-core.ts';
import { limitsByName } from '../limiter.ts';
import { checkOptions } from '../options.ts';
import { namePolicies, type Policy } from '../policy.ts';
import type { Limit, Part } from '../stores/store.ts';
import { fieldWriter, type Field, type FieldWriter } from './headers.ts';
import { byIp, type Key } from './keys/key-parts.ts';
import { isOptionalKey, keyFunction, type ReadKey } from './keys/read-key.ts';
import {
  HTTP_OPTIONS,
  PER_LIMIT_OPTIONS,
  type HttpLimitOptions,
  type OnMissingKey,
  type PolicyOption,
  type RateLimitOptions,
} from './options.ts';
import { missingKeyRefusal, refusalOf, type Refusal } from './problem.ts';
import type { RequestReader } from './reader.ts';

/** The decision and the key, as they stand on the request afterwards. */
export interface RateLimitInfo {
  /** With `limits`, the keys by the name of their limit. */
  readonly key: string | Readonly<Record<string, string>>;
  readonly decision: Decision;
}

/** What an adapter is to do with a request. */
export interface Enforcement {
  /** Header fields of the answer, whoever writes it. */
  readonly fields: readonly Field[];
  /** Undefined when the request was not limited. */
  readonly info: RateLimitInfo | undefined;
  /** Set when the request is refused: the answer to give, unless `onDenied` gives it or `throw` makes an error of it. */
  readonly refusal: Refusal | undefined;
}

export interface Enforcer<Request> {
  /**
   * Decides about a request. Rejects when the options of the user throw, and when `onStoreError` says so.
   *
   * A second call with the same request passes it: a middleware that is mounted twice counts once.
   */
  enforce(request: Request): Promise<Enforcement>;
}

/** One limit of a request, ready to be asked. */
interface AskedLimit<Request> {
  readonly name: string;
  readonly readKey: ReadKey<Request>;
  readonly cost: number | ((request: Request) => number | Promise<number>);
  readonly onMissingKey: OnMissingKey;
  readonly limitFor: (request: Request) => Limit | Promise<Limit>;
}

const PASS: Enforcement = { fields: [], info: undefined, refusal: undefined };
/** No subject of a request looks like this: those that begin with `#` are hashed to more characters. */
const MISSING_SUBJECT = '#missing';

/**
 * Everything an adapter does that is the same in every framework: reads keys, asks the limiter, writes header fields,
 * words the refusal.
 *
 * @param options - What the user gave, unchecked. `ownOptions` names those of them that the adapter itself understands.
 * @throws PolicyError for bad or unknown options; `SLUICE_LIMITER_NAME_TAKEN` for a name that is in use on the store.
 */
export function createEnforcer<Request, Response>(
  options: RateLimitOptions<Request, Response>,
  reader: RequestReader<Request>,
  ownOptions: readonly string[] = [],
): Enforcer<Request> {
  checkOptions(options, [...HTTP_OPTIONS, ...CORE_OPTIONS, ...ownOptions], 'rateLimit');
  checkHooks(options);
  const core = new LimiterCore(options);
  const asked = askedLimits(core, options, reader);
  const writeFields = fieldWriter(options.headers);
  core.claim();
  return new HttpEnforcer(core, asked, reader, writeFields, options);
}

function checkHooks(options: object): void {
  const given = options as Readonly<Record<string, unknown>>;
  for (const name of ['skip', 'onDenied', 'onDecision']) {
    if (given[name] !== undefined && typeof given[name] !== 'function') {
      throw new PolicyError(name, `${name} must be a function, got ${shown(given[name])}`, 'SLUICE_OPTION_INVALID');
    }
  }
  if (given['throw'] !== undefined && typeof given['throw'] !== 'boolean') {
    throw new PolicyError(
      'throw',
      `throw must be true or false, got ${shown(given['throw'])}`,
      'SLUICE_OPTION_INVALID',
    );
  }
}

function askedLimits<Request, Response>(
  core: LimiterCore,
  options: RateLimitOptions<Request, Response>,
  reader: RequestReader<Request>,
): readonly AskedLimit<Request>[] {
  if (options.limits === undefined)
    return [askedLimit(core.name, options, limitFor(core, policyOption(options)), reader, 'deny')];
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (value === undefined || !['policy', 'limit', 'window', 'key', 'onMissingKey'].includes(name)) continue;
    throw new PolicyError(
      name,
      `${name} goes into the entries of limits, got ${shown(value)} beside them`,
      'SLUICE_OPTION_INVALID',
    );
  }
  const limits = limitsByName(core, options.limits, ['name', 'policy', ...PER_LIMIT_OPTIONS]);
  return options.limits.map((entry: HttpLimitOptions<Request>, i) => {
    const limit = limits.get(entry.name) as Limit;
    const missing = entry.key !== undefined && isOptionalKey(entry.key) ? 'skip' : 'deny';
    const withCost = options.cost === undefined || entry.cost !== undefined ? entry : { ...entry, cost: options.cost };
    return askedLimit(entry.name, withCost, () => limit, reader, missing, `limits[${String(i)}].`);
  });
}

function askedLimit<Request>(
  name: string,
  options: { key?: Key<Request>; cost?: AskedLimit<Request>['cost']; onMissingKey?: OnMissingKey },
  limitForRequest: AskedLimit<Request>['limitFor'],
  reader: RequestReader<Request>,
  missing: OnMissingKey,
  where = '',
): AskedLimit<Request> {
  const { key = byIp<Request>(), cost = 1 } = options;
  const onMissingKey: string = options.onMissingKey ?? missing;
  if (onMissingKey !== 'deny' && onMissingKey !== 'skip' && onMissingKey !== 'shared') {
    const field = `${where}onMissingKey`;
    throw new PolicyError(
      field,
      `${field} must be "deny", "skip" or "shared", got ${shown(onMissingKey)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  if (typeof cost !== 'function' && (!Number.isSafeInteger(cost) || cost < 1)) {
    const field = `${where}cost`;
    throw new PolicyError(
      field,
      `${field} must be a whole number, at least 1, or a function of the request, got ${shown(cost)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return { name, readKey: keyFunction(key, reader, `${where}key`), cost, onMissingKey, limitFor: limitForRequest };
}

function policyOption<Request, Response>(options: RateLimitOptions<Request, Response>): PolicyOption<Request> {
  const { policy, limit, window }: { policy?: PolicyOption<Request>; limit?: number; window?: Duration } = options;
  if (policy !== undefined) {
    if (limit === undefined && window === undefined) return policy;
    throw new PolicyError(
      'policy',
      'rateLimit takes policy, or limit and window, got both; put the numbers into the policy',
    );
  }
  if (limit === undefined && window === undefined) {
    throw new PolicyError(
      'policy',
      'rateLimit needs limit and window, such as { limit: 100, window: "1m" }, or a policy, or limits; got none of them',
    );
  }
  return slidingWindow({ limit: limit as number, window: window as Duration });
}

/** The limit of a policy option. A policy that a function hands out again and again is checked once. */
function limitFor<Request>(core: LimiterCore, option: PolicyOption<Request>): AskedLimit<Request>['limitFor'] {
  if (typeof option !== 'function') {
    const limit = core.limitOf(namePolicies(option, core.name));
    return () => limit;
  }
  const known = new WeakMap<object, Limit>();
  return async (request) => {
    const policy: unknown = await option(request);
    if (typeof policy !== 'object' || policy === null) {
      throw new PolicyError(
        'policy',
        `the policy function must answer a policy or a list of them, got ${shown(policy)}; requests without a limit are for skip`,
      );
    }
    let limit = known.get(policy);
    if (limit === undefined) {
      for (const one of Array.isArray(policy) ? (policy as Policy[]) : [policy as Policy]) {
        if ((one as Partial<Policy> | null)?.name !== undefined) continue;
        throw new PolicyError(
          'policy.name',
          'a policy that a function answers needs a name: policies of different names never share state',
        );
      }
      limit = core.limitOf(namePolicies(policy, core.name));
      known.set(policy, limit);
    }
    return limit;
  };
}

class HttpEnforcer<Request, Response> implements Enforcer<Request> {
  readonly #core: LimiterCore;
  readonly #asked: readonly AskedLimit<Request>[];
  readonly #reader: RequestReader<Request>;
  readonly #writeFields: FieldWriter;
  readonly #options: RateLimitOptions<Request, Response>;
  readonly #seen = new WeakSet<object>();

  constructor(
    core: LimiterCore,
    asked: readonly AskedLimit<Request>[],
    reader: RequestReader<Request>,
    writeFields: FieldWriter,
    options: RateLimitOptions<Request, Response>,
  ) {
    this.#core = core;
    this.#asked = asked;
    this.#reader = reader;
    this.#writeFields = writeFields;
    this.#options = options;
  }

  async enforce(request: Request): Promise<Enforcement> {
    if (this.#seen.has(request as object) || this.#isPreflight(request)) return PASS;
    this.#seen.add(request as object);
    // Read before anything is waited for, and remembered by the socket: it cannot be asked once the client is gone.
    this.#reader.address(request);
    if (await this.#options.skip?.(request)) return PASS;

    const parts: Part[] = [];
    const found: Record<string, string> = {};
    for (const asked of this.#asked) {
      const key = await asked.readKey(request);
      if (key === undefined && asked.onMissingKey === 'skip') continue;
      if (key === undefined && asked.onMissingKey === 'deny') {
        return { fields: [], info: undefined, refusal: missingKeyRefusal() };
      }
      const cost = typeof asked.cost === 'function' ? await asked.cost(request) : asked.cost;
      checkCost(cost);
      if (cost === 0) continue;
      parts.push({
        limit: await asked.limitFor(request),
        subject: key === undefined ? MISSING_SUBJECT : encodeSubject(key),
        cost,
      });
      found[asked.name] = key ?? '';
    }
    if (parts.length === 0) return PASS;

    const decision = await this.#core.decide('consume', parts);
    const key = this.#options.limits === undefined ? (found[this.#core.name] ?? '') : found;
    await this.#options.onDecision?.(decision, { key, request });
    const fields = decision.outcome === 'unavailable' ? [] : this.#writeFields(decision);
    return { fields, info: { key, decision }, refusal: decision.allowed ? undefined : refusalOf(decision) };
  }

  /** A browser's question whether it may ask at all, which has no body. Any other OPTIONS counts. */
  #isPreflight(request: Request): boolean {
    return (
      this.#reader.method(request) === 'OPTIONS' &&
      this.#reader.header(request, 'origin') !== undefined &&
      this.#reader.header(request, 'access-control-request-method') !== undefined &&
      (this.#reader.header(request, 'content-length') ?? '0') === '0' &&
      this.#reader.header(request, 'transfer-encoding') === undefined
    );
  }
}
