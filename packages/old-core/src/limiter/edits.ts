import { SluiceError, isFault, shown, staleError, typeError } from '../errors.ts';
import { holdsSlots } from '../engine/policy.ts';
import type { OnStoreError } from '../engine/fast.ts';
import type { LimiterDeps } from './deps.ts';
import { areResolved, renewParts, resolve, unreadFeeds, type UnresolvedPart } from './resolve.ts';
import { fallbackPart } from '../stores/fallback.ts';
import {
  isPending,
  type EditingRequest,
  type Part,
  type Store,
  type StoreAnswer,
  type StoreAnswers,
} from '../engine/store.ts';

/** An edit whose limit is not looked up yet. */
export type UnresolvedEdit = EditingRequest extends infer Edit
  ? Edit extends EditingRequest
    ? Omit<Edit, 'part'> & { readonly part: UnresolvedPart }
    : never
  : never;

/**
 * Resets, blocks or unblocks in one call, in the fallback store as well, so that a blocked client stays blocked
 * while the store is unavailable.
 */
export async function edit(requested: readonly UnresolvedEdit[], deps: LimiterDeps): Promise<void> {
  const requests = requested.every(isResolved) ? requested : await lookUp(requested, deps);
  const hereToo = requests.map((request) => ({ ...request, part: fallbackPart(request.part) }));
  void deps.fallback?.perform(hereToo); // synchronous, because the fallback is memory
  await performEdits(requests, deps);
}

/**
 * Refunds or charges units of keys where no decision is at hand. Where the store fails and `onStoreError` is `local`,
 * in the fallback store.
 *
 * @throws (rejects) TypeError `SLUICE_ACQUIRE_NEEDED` where a policy holds slots: units alone do not say whose.
 */
export async function settleKeys(
  op: 'refund' | 'charge',
  requested: readonly UnresolvedPart[],
  deps: LimiterDeps,
  onStoreError: OnStoreError,
): Promise<void> {
  const unresolved = requested.map((part): UnresolvedEdit => ({ op, part }));
  const requests = unresolved.every(isResolved) ? unresolved : await lookUp(unresolved, deps);
  for (const { part } of requests) checkNoSlots(part);
  if (requested.every(({ cost }) => cost === 0)) return;
  try {
    await performEdits(requests, deps);
  } catch (error) {
    if (onStoreError !== 'local' || deps.fallback === undefined || isFault(error)) throw error;
    void deps.fallback.perform(requests.map((request) => ({ ...request, part: fallbackPart(request.part) })));
  }
}

/**
 * Settles what an earlier decision took, of which only the numbers are known: refunds, charges, releases or renews in
 * the store, and not in the fallback.
 *
 * @returns The answers, without those of limits that are not there any more.
 * @throws (rejects) StoreError.
 */
export async function settleParts(
  requested: readonly UnresolvedEdit[],
  deps: LimiterDeps,
): Promise<readonly StoreAnswer[]> {
  const requests = requested.every(isResolved) ? requested : await lookUp(requested, deps);
  return performEdits(requests, deps);
}

function checkNoSlots({ limit }: Part): void {
  const held = limit.policies.find((named) => holdsSlots([named]));
  if (held === undefined) return;
  throw typeError(
    'SLUICE_ACQUIRE_NEEDED',
    `the policy ${shown(held.name)} holds slots, which belong to their holders: call the release() that limiter.acquire(key) returned; nothing was changed`,
  );
}

function isResolved(request: UnresolvedEdit): request is EditingRequest {
  return areResolved([request.part]);
}

/** The edits with their current limits. Limits that decisions leave out are left out here too. */
async function lookUp(
  requested: readonly UnresolvedEdit[],
  { timeoutMs, reportFailure }: LimiterDeps,
): Promise<readonly EditingRequest[]> {
  const feeds = unreadFeeds(requested.map(({ part }) => part));
  try {
    await Promise.all(feeds.map((feed) => feed.loaded(timeoutMs)));
  } catch (error) {
    throw reportFailure(error);
  }
  const found = requested.map((request): EditingRequest | undefined => {
    const { parts, missing } = resolve([request.part]);
    const [part] = parts;
    if (part !== undefined) return { ...request, part };
    if (missing?.onMissing === 'allow' && requested.length > 1) return undefined;
    throw new SluiceError(
      'SLUICE_POLICY_UNCONFIGURED',
      `the managed policy ${shown(missing?.name)} is not there, or not for this application: nothing was done`,
    );
  });
  return found.filter((request) => request !== undefined);
}

/**
 * Sends edits. An edit that finds a state of another version of its policy is sent again under that version: once
 * per change of the policy, until `timeoutMs` has passed.
 *
 * @param again - The end of that time, and the versions found by the last call.
 * @returns The store's answer to each edit, of those sent again the last one.
 * @throws (rejects) StoreError.
 */
export async function performEdits(
  requests: readonly EditingRequest[],
  deps: LimiterDeps,
  store: Store = deps.store,
  again: { readonly endMs: number; readonly found?: string } = { endMs: performance.now() + deps.timeoutMs },
): Promise<readonly StoreAnswer[]> {
  if (requests.length === 0) return []; // a change of the policy has removed what was to be edited
  const { reportFailure } = deps;
  let answers: StoreAnswers | Promise<StoreAnswers>;
  try {
    answers = ask(requests, deps, store);
    if (isPending(answers)) answers = await answers;
  } catch (error) {
    throw reportFailure(error);
  }
  for (const { part } of requests) deps.changed(part.subject);
  const [failed] = answers.filter((answer) => answer instanceof Error).map((error) => reportFailure(error));
  if (failed !== undefined) throw failed;
  const found = (answers as readonly StoreAnswer[]).map(({ stale }) => stale);
  const done = (answers as readonly StoreAnswer[]).filter(({ stale }) => stale === undefined);
  if (done.length === answers.length) return done;
  const { endMs } = again;
  const versions = found.filter((stale) => stale !== undefined).join(';');
  // A version that a renewal did not resolve is unknown to the source of the policies.
  if (performance.now() >= endMs || versions === again.found) throw reportFailure(staleError());
  const renewedRequests = await renewEdits(requests, found, deps);
  return [...done, ...(await performEdits(renewedRequests, deps, store, { endMs, found: versions }))];
}

/** Through the guard where the store is the limiter's own. */
function ask(
  requests: readonly EditingRequest[],
  { store: own, guard, timeoutMs }: LimiterDeps,
  store: Store,
): StoreAnswers | Promise<StoreAnswers> {
  return store !== own || guard === undefined ? store.perform(requests) : guard.perform(requests, timeoutMs);
}

/** Whether an edit settles units of a decision, which a policy change may have dropped since. */
function isSettlement(request: EditingRequest): boolean {
  const { op } = request;
  if (op === 'refund' || op === 'charge') return request.chargedUntilMs !== undefined;
  return op === 'release' || op === 'renew';
}

/** The stale edits, with limits that can read the states found. Edits without a policy are dropped. */
async function renewEdits(
  requests: readonly EditingRequest[],
  found: readonly (readonly (number | undefined)[] | undefined)[],
  { timeoutMs, reportFailure }: LimiterDeps,
): Promise<readonly EditingRequest[]> {
  const renewing = requests.map(async (request, i): Promise<readonly EditingRequest[]> => {
    const versions = found[i];
    if (versions === undefined) return [];
    const parts = await renewParts([request.part], versions, timeoutMs, isSettlement(request));
    return parts?.map((part) => ({ ...request, part })) ?? [];
  });
  try {
    return (await Promise.all(renewing)).flat();
  } catch (error) {
    throw reportFailure(error);
  }
}
