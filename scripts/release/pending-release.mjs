import getReleasePlan from '@changesets/get-release-plan';

/** How much a change raises the version: in this order the changelog has them. */
const BUMPS = ['major', 'minor', 'patch', 'none'];

/** The version that the changesets lead to, with their texts; `undefined` if they lead to none. */
export async function pendingRelease(root) {
  const { changesets, releases } = await getReleasePlan(root);
  const raised = releases.filter(({ type }) => type !== 'none');
  if (raised.length === 0) return undefined;
  const bumpOf = ({ releases: own }) => Math.min(...own.map(({ type }) => BUMPS.indexOf(type)));
  const texts = changesets.toSorted((a, b) => bumpOf(a) - bumpOf(b)).map(({ summary }) => summary);
  // All packages are in one group, so that all are raised to the same version.
  return { version: raised[0].newVersion, texts };
}
