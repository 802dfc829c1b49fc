import { asStoreError, shown } from '../errors.ts';
import {
  policyOf,
  type MarkedPolicy,
  type PolicyContext,
  type PolicyFunction,
  type ReturnedPolicy,
} from '../limiter/policy-function.ts';
import { parseName } from '../values/name.ts';
import { warnOnce } from '../warnings.ts';
import type { Follower } from './follower.ts';
import { findFollower } from './policies.ts';
import type { Held } from './record.ts';

/** By limiter, while it is in use. */
const users = /* @__PURE__ */ new WeakMap<PolicyContext, Follower>();

/** Called once for all managed policies of a limiter. */
function open(context: PolicyContext): () => Promise<void> {
  const follower = findFollower(context.policies, context.store);
  users.set(context, follower);
  return follower.enter();
}

/**
 * The current policy that `policies.put(name, ...)` stored under this name. Use it in place of a policy: as `policy`,
 * in an entry of `limits`, or as the result of a function of the request. All limiters that use it, in any application,
 * share the counts of a key.
 *
 * The source is the limiter's option `policies`, by default the Redis of its store. The option `app` must be one of the
 * policy's applications.
 *
 * @throws PolicyError for an invalid name.
 */
export function managed(name: string): PolicyFunction & MarkedPolicy {
  const policyName = parseName(name, 'name');
  const find = (key: string, { app }: PolicyContext, { copy }: Follower): ReturnedPolicy => {
    const held = copy.get(policyName);
    if (held?.policy !== undefined && isFor(app, held)) return copy.find(policyName, key);
    warnAboutMissing(policyName, app, held);
    return undefined;
  };
  const read: PolicyFunction = (key, context) => {
    if (!users.has(context)) open(context);
    const follower = users.get(context) as Follower;
    const first = follower.firstLoad();
    if (first === undefined) return find(key, context, follower);
    const fail = (error: unknown): never => {
      throw asStoreError(error); // also of a source of the user's own: until it is read again, nothing is known
    };
    return first.then(() => find(key, context, follower), fail);
  };
  return policyOf(read, {
    name: policyName,
    // Every reset has its own keys, so all states start again at once, in every process.
    keyName: (context) => {
      const resets = users.get(context)?.copy.get(policyName)?.record.resets ?? 0;
      return resets === 0 ? policyName : `${policyName}@${String(resets)}`;
    },
    current: (context) => users.get(context)?.copy.get(policyName)?.policy,
    isLost: (context) => users.get(context)?.lost.has(policyName) === true,
    open,
  });
}

function isFor(app: string | undefined, { record: { apps } }: Held): boolean {
  return apps === undefined || (app !== undefined && apps.includes(app));
}

function warnAboutMissing(name: string, app: string | undefined, held: Held | undefined): void {
  const why = explainUnusable(app, held);
  const apps = app === undefined ? '' : `, { apps: [..., ${JSON.stringify(app)}] }`;
  warnOnce(
    'SLUICE_POLICY_UNCONFIGURED',
    `the managed policy ${shown(name)} cannot be used here: ${why}. Its requests are unconfigured (see onUnconfigured); ` +
      `write policies.put(${JSON.stringify(name)}, policy${apps}).`,
    `${name} ${app ?? ''} ${why}`,
  );
}

function explainUnusable(app: string | undefined, held: Held | undefined): string {
  if (held === undefined) return 'there is no such policy';
  if (held.policy === undefined) return held.problem ?? 'it was removed';
  if (app !== undefined) return `the application ${JSON.stringify(app)} is not in its list of apps`;
  return 'it is only for some applications, and the limiter has no app option';
}
