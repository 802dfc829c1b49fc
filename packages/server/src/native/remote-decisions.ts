import { createHash } from 'node:crypto';
import { parsePolicy, type Answer, type Ask, type Op, type Policy } from '@sluice/core';
import type { LimiterCore } from '@sluice/core/spi';
import { badRequest } from '../transport/request-problem.ts';

const MAX_POLICIES = 1000;
const MAX_ASKS = 100;
/**
 * Later than every instant and longer than every block of a limiter. Longer blocks could neither be written nor ended.
 */
const MAX_UNTIL = 2 ** 52;
const OPS: readonly Op[] = ['take', 'peek', 'try', 'give', 'charge', 'reset', 'block', 'renew'];
/** A subject, and the limiter and policy, as `remoteStore` writes them. */
const KEY = /^\{([^{}]{0,256})\}(:[\w.:@-]{1,200})$/s;

/** The body of one call of a `remoteStore`. */
interface Given {
  readonly op: Op;
  readonly asks: readonly Ask[];
}

/**
 * Serves `remoteStore`. Its keys are in a separate space for each token, apart from those of the limits in the file. The
 * body: `{ "policies": [...], "requests": [{ "op": "take", "asks": [[key, policy, cost, holder, until]] }] }`, where a
 * policy is given by its place in the list. The answer: `{ "answers": [{ "atMs", "figures" } or { "error" }] }`.
 *
 * @param authorization - The field of the request.
 */
export async function decideRemotely(core: LimiterCore, body: unknown, authorization?: string): Promise<unknown> {
  const given = readRequests(body, getSpace(authorization));
  return { answers: await Promise.all(given.map((call) => perform(core, call))) };
}

/** What follows the subject in a key begins with this. No limiter's name begins with a tilde. */
function getSpace(authorization = ''): string {
  return `:~${createHash('sha256').update(authorization).digest('base64url').slice(0, 10)}`;
}

async function perform(core: LimiterCore, { op, asks }: Given): Promise<unknown> {
  try {
    const { atMs, figures }: Answer = await core.send(op, asks);
    return { atMs, figures };
  } catch (error) {
    // A store's messages may contain addresses, so clients only get the code.
    const { code = 'SLUICE_STORE_FAILED' } = error as { readonly code?: string };
    return { error: { code, detail: 'its store does not answer' } };
  }
}

function readRequests(body: unknown, space: string): readonly Given[] {
  const { policies, requests } = (body ?? {}) as { readonly policies?: unknown; readonly requests?: unknown };
  const known = readList(policies, 'policies', MAX_POLICIES).map((policy, i) => {
    try {
      return parsePolicy(policy, `policies[${String(i)}]`);
    } catch (error) {
      throw badRequest((error as Error).message.replace(/ \[\w+\]$/, ''));
    }
  });
  return readList(requests, 'requests', MAX_POLICIES).map((request, i) => {
    const { op, asks } = (request ?? {}) as { readonly op?: unknown; readonly asks?: unknown };
    const where = `requests[${String(i)}]`;
    if (!(OPS as readonly unknown[]).includes(op)) throw badRequest(`${where}.op must be one of ${OPS.join(', ')}`);
    const read = readList(asks, `${where}.asks`, MAX_ASKS).map((ask) => readAsk(ask, known, space, where));
    if (new Set(read.map(({ key }) => key)).size < read.length) throw badRequest(`${where} has a key twice`);
    return { op: op as Op, asks: read };
  });
}

function readAsk(given: unknown, policies: readonly Policy[], space: string, where: string): Ask {
  const [key, place, cost, holder = 0, until = 0] = Array.isArray(given) ? (given as unknown[]) : [];
  const [, subject, rest] = (typeof key === 'string' && KEY.exec(key)) || [];
  const policy = policies[Number(place)];
  const areWhole = [place, cost, holder, until].every((value) => Number.isSafeInteger(value) && Number(value) >= 0);
  if (subject === undefined || rest === undefined || policy === undefined || !areWhole || Number(until) > MAX_UNTIL) {
    throw badRequest(`${where} has an ask that is no [key, policy, cost, holder, until] of a remoteStore`);
  }
  const numbers = { cost: Number(cost), holder: Number(holder), until: Number(until) };
  return { key: `{${subject}}${space}${rest}`, policy, ...numbers, uncached: true };
}

function readList(given: unknown, field: string, max: number): readonly unknown[] {
  if (Array.isArray(given) && given.length > 0 && given.length <= max) return given as readonly unknown[];
  throw badRequest(`${field} must be a list of 1 to ${String(max)}`);
}
