import { SluiceError, shown, staleError } from './errors.ts';
import { isPlain, renewed, resolve, unknownSources, type AskedPart } from './managed/resolve.ts';
import { withinDeadline } from './stores/deadline.ts';
import { standInPart, type LocalStore } from './stores/local-store.ts';
import { isPending, type EditingRequest, type StoreAnswer, type StoreAnswers } from './stores/store.ts';

/** An edit, before its limit is looked up. */
export type AskedEdit = EditingRequest extends infer Edit
  ? Edit extends EditingRequest
    ? Omit<Edit, 'part'> & { readonly part: AskedPart }
    : never
  : never;

/** What edits need of their limiter. */
export interface EditGrounds {
  /** This process's stand-in for the store, where there is one. */
  readonly local: LocalStore | undefined;
  readonly timeoutMs: number;
  readonly ask: (requests: readonly EditingRequest[]) => StoreAnswers | Promise<StoreAnswers>;
  /** Tells of a failure, and answers it as one of ours. */
  readonly note: (error: unknown) => SluiceError;
}

/**
 * Resets, blocks or unblocks, in one call, on this process's stand-in as well, so that a blocked client stays blocked while
 * the store is away.
 */
export async function edit(asked: readonly AskedEdit[], grounds: EditGrounds): Promise<void> {
  const requests = asked.every(isPlainEdit) ? asked : await lookUp(asked, grounds);
  const hereToo = requests.map((request) => ({ ...request, part: standInPart(request.part) }));
  void grounds.local?.perform(hereToo); // at once, as memory does
  await performEdits(requests, grounds);
}

function isPlainEdit(request: AskedEdit): request is EditingRequest {
  return isPlain([request.part]);
}

/** The edits, with the limits as things stand. What may be left out of a decision is left out here too. */
async function lookUp(
  asked: readonly AskedEdit[],
  { timeoutMs, note }: EditGrounds,
): Promise<readonly EditingRequest[]> {
  const sources = unknownSources(asked.map(({ part }) => part));
  try {
    await withinDeadline(Promise.all(sources.map((source) => source.loaded())), timeoutMs, { abandoned: false });
  } catch (error) {
    throw note(error);
  }
  const found = asked.map((request): EditingRequest | undefined => {
    const { parts, unconfigured } = resolve([request.part]);
    const [part] = parts;
    if (part !== undefined) return { ...request, part };
    if (unconfigured?.onUnconfigured === 'allow' && asked.length > 1) return undefined;
    throw new SluiceError(
      'SLUICE_POLICY_UNCONFIGURED',
      `the managed policy ${shown(unconfigured?.name)} is not there, or not for this application: nothing was done`,
    );
  });
  return found.filter((request) => request !== undefined);
}

/**
 * Sends edits; those that find a state of another edition of their policy again, in that one: once for each change of it,
 * until `timeoutMs` is over.
 *
 * @param again - When that is, and the versions that were found last.
 * @returns What the store answered to each, of those that were sent once more to the last.
 * @throws (rejects) StoreError.
 */
export async function performEdits(
  requests: readonly EditingRequest[],
  grounds: Omit<EditGrounds, 'local'>,
  again: { readonly endMs: number; readonly found?: string } = { endMs: performance.now() + grounds.timeoutMs },
): Promise<readonly StoreAnswer[]> {
  if (requests.length === 0) return []; // what was to be edited is gone with a change of its policy
  const { ask, note } = grounds;
  let answers: StoreAnswers | Promise<StoreAnswers>;
  try {
    answers = ask(requests);
    if (isPending(answers)) answers = await answers;
  } catch (error) {
    throw note(error);
  }
  const [failed] = answers.filter((answer) => answer instanceof Error).map(note);
  if (failed !== undefined) throw failed;
  const found = (answers as readonly StoreAnswer[]).map(({ stale }) => stale);
  const done = (answers as readonly StoreAnswer[]).filter(({ stale }) => stale === undefined);
  if (done.length === answers.length) return done;
  const { endMs } = again;
  const versions = found.filter((stale) => stale !== undefined).join(';');
  // What has been asked about, and is met again, is known to nobody.
  if (performance.now() >= endMs || versions === again.found) throw note(staleError());
  const requestsAnew = await renewEdits(requests, found, grounds);
  return [...done, ...(await performEdits(requestsAnew, grounds, { endMs, found: versions }))];
}

/** Whether an edit is about units that were taken, and may have been forgotten since. */
function isOfTheTaken({ op }: EditingRequest): boolean {
  return op !== 'reset' && op !== 'block' && op !== 'unblock';
}

/** Those that were stale, of limits as the states that were found call for. What has no policy any more has nothing to edit. */
async function renewEdits(
  requests: readonly EditingRequest[],
  found: readonly (readonly (number | undefined)[] | undefined)[],
  { timeoutMs, note }: Omit<EditGrounds, 'local'>,
): Promise<readonly EditingRequest[]> {
  const renewing = requests.map(async (request, i): Promise<readonly EditingRequest[]> => {
    const versions = found[i];
    if (versions === undefined) return [];
    const parts = await renewed([request.part], versions, isOfTheTaken(request));
    return parts?.map((part) => ({ ...request, part })) ?? [];
  });
  try {
    return (await withinDeadline(Promise.all(renewing), timeoutMs, { abandoned: false })).flat();
  } catch (error) {
    throw note(error);
  }
}
