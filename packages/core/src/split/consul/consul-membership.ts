import { StoreError, type SluiceErrorCode } from '../../errors.ts';
import { invalid, optional, readOptions, valueThat, wholeNumber, withDefault } from '../../values/shape.ts';
import type { Field, Optional, Options, WithDefault } from '../../values/shape.ts';
import type { Membership, Members } from '../membership/membership.ts';
import { localTime } from '../membership/membership-clock.ts';
import { MAX_PERIOD_MS, memberId, poll, type AskMembers } from '../membership/poll-membership.ts';

const CONSUL = {
  /** The URL of a Consul agent. Default `http://127.0.0.1:8500`. */
  address: withDefault(readOrigin, 'http://127.0.0.1:8500') as WithDefault<string>,
  /** The name of the service whose instances are the members. */
  service: valueThat(
    (given) => typeof given === 'string' && given !== '',
    'the name of the service whose instances share the limits',
  ) as Field<string>,
  /** The id of this instance in the service, unique across all nodes. */
  id: memberId as Field<string>,
  /** The token, sent as `X-Consul-Token`. It needs read access to `service_prefix` and `node_prefix`. */
  token: optional(readToken) as Optional<string>,
  /**
   * How long an answer is valid, in milliseconds from the request; at least 400. A query waits up to a quarter of that
   * time for a change. Default `10_000`.
   */
  ttlMs: withDefault(wholeNumber(400, MAX_PERIOD_MS, 'a whole number of milliseconds'), 10_000) as WithDefault<number>,
};

export interface ConsulMembershipOptions extends Options<typeof CONSUL> {}

/** From the start of one query to the start of the next, however often members change. */
const EVERY_MS = 200;
/**
 * A query waits for this part of the time for which its answer is valid, so that a lost query leaves time for the next.
 */
const WAITS = 4;
const MAX_SHOWN = 200;

/**
 * A membership by the health of a service in Consul: the instances whose checks pass are the members, and their
 * `Weights.Passing` are their weights, which a load balancer configured from Consul also uses. It makes one blocking
 * query at a time, which Consul answers when something changes. The shares keep the limit as described for a
 * {@link Confirmation} without time.
 *
 * @throws PolicyError for a bad or unknown option. Nothing is sent before a limiter uses it. No error holds the token.
 */
export function consulMembership(options: ConsulMembershipOptions): Membership {
  const { id, ttlMs, ...agent } = readOptions(options, CONSUL, 'consulMembership');
  const ask = askHealthyInstances(agent, Math.floor(ttlMs / WAITS));
  return poll(id, ask, { ttlMs, everyMs: EVERY_MS }, localTime);
}

/** An error of `fetch` has the reason in its cause; if several addresses failed, the cause has only a code. */
interface FetchError extends Error {
  readonly cause?: { readonly message?: string; readonly code?: string };
}

/** The parts of the endpoint's entry for an instance that are used here. */
interface Entry {
  readonly Service: { readonly ID: string; readonly Weights?: { readonly Passing?: number } };
}

/**
 * Asks for the instances of a service whose checks pass, with their weights in the registry. Consul answers the first
 * request at once, later ones when something changes, or after `waitMs` plus up to a sixteenth.
 */
function askHealthyInstances(
  {
    address,
    service,
    token,
  }: { readonly address: string; readonly service: string; readonly token?: string | undefined },
  waitMs: number,
): AskMembers {
  const path = `/v1/health/service/${encodeURIComponent(service)}`;
  // An answer may repeat the token. Errors have no cause, because its message may hold the token too.
  const failed = (code: SluiceErrorCode, what: string): StoreError => {
    const text = token === undefined ? what : what.replaceAll(token, '...');
    return new StoreError(code, `Consul at ${address}, GET ${path}: ${text.slice(0, MAX_SHOWN)}`);
  };
  const invalidAnswer = (why: string): StoreError => failed('SLUICE_STORE_REPLY_INVALID', why);
  let index = 0;
  return async (signal) => {
    const before = index;
    index = 0; // after a failure the next request is answered at once
    // `near` makes the agent ask its servers. Without it, an agent that has lost its servers repeats what it knew.
    const blocking = before > 0 ? { index: String(before), wait: `${String(waitMs)}ms` } : {};
    const query = new URLSearchParams({ passing: 'true', near: '_agent', ...blocking });
    const url = new URL(`${path}?${query.toString()}`, address);
    const headers: Record<string, string> = token === undefined ? {} : { 'X-Consul-Token': token };
    try {
      // The target of a redirect would receive the token and be trusted.
      const response = await fetch(url, { headers, redirect: 'error', signal });
      const text = await response.text();
      if (response.status !== 200) throw failed('SLUICE_STORE_FAILED', `${String(response.status)} ${text.trim()}`);
      const members = readMembers(text, response.headers, invalidAnswer);
      index = readIndex(response.headers, before, invalidAnswer);
      return members;
    } catch (error) {
      if (error instanceof StoreError) throw error;
      const { message, cause } = error as FetchError;
      throw failed('SLUICE_STORE_FAILED', `${message} (${cause?.message || cause?.code || 'no answer'})`);
    }
  };
}

/**
 * The index to wait from, as Consul's documentation of blocking queries requires: after an index that went back (a
 * restored snapshot), start again with 0; an index that is not above 0 would not block.
 */
function readIndex(headers: Headers, before: number, invalidAnswer: (why: string) => StoreError): number {
  const index = Number(headers.get('x-consul-index') ?? NaN);
  if (Number.isNaN(index)) throw invalidAnswer('the answer has no index, so it is not from Consul');
  if (index < 1) return 1;
  return index < before ? 0 : index;
}

function readMembers(text: string, headers: Headers, invalidAnswer: (why: string) => StoreError): Members {
  if (headers.get('x-consul-knownleader') === 'false') throw invalidAnswer('the agent knows no leader');
  if (headers.get('x-consul-results-filtered-by-acls') === 'true') {
    throw invalidAnswer('the token may not read all instances: it needs service:read and node:read');
  }
  const entries = parseJson(text);
  if (!Array.isArray(entries) || !entries.every(isEntry)) {
    throw invalidAnswer(`expected a list of instances, got ${text.trim()}`);
  }
  const weights = entries.map(({ Service }): [string, number] => [Service.ID, Service.Weights?.Passing ?? 1]);
  const twice = weights.find(([id], i) => weights.findIndex(([other]) => other === id) < i);
  if (twice !== undefined) throw invalidAnswer(`two instances have the id ${twice[0]}: give each its own id`);
  return Object.fromEntries(weights);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // reported as what it is: no list
  }
}

function isEntry(entry: unknown): entry is Entry {
  return typeof (entry as Partial<Entry> | null)?.Service?.ID === 'string';
}

/** Checked here, because an error of fetch would show it. */
function readToken(given: unknown, field: string): string {
  if (typeof given === 'string' && /^[\x21-\x7e]+$/.test(given)) return given;
  throw invalid(field, 'a string of visible ASCII characters', typeof given === 'string' ? 'another string' : given);
}

/** The address may contain a password, so it is not shown. */
function readOrigin(given: unknown, field: string): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (isOrigin && url.pathname === '/' && url.search === '') return url.origin;
  const got = typeof given === 'string' ? 'another string' : given;
  throw invalid(field, 'the http or https URL of an agent, without a path; secrets go into token', got);
}
