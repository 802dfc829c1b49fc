import { PolicyError, shown } from '../errors.ts';
import { listed } from '../values/hint.ts';
import type { Algorithm, PolicyBase } from './algorithm.ts';

/** An algorithm whose policy and state types are not known here. Its functions get only its own policies and states. */
export type AnyAlgorithm = Algorithm<PolicyBase, unknown>;

/** The algorithms that are known: outside of bundles all of them. */
const registered: AnyAlgorithm[] = [];

/**
 * Makes an algorithm known to this process. Call it as `@__PURE__`: a bundler then leaves out an algorithm that the
 * program names nowhere, and Node loads all of them. See docs/adr/0087-a-bundle-has-what-it-names.md.
 */
export function register<P extends PolicyBase, S>(algorithm: Algorithm<P, S>): Algorithm<P, S> {
  registered.push(algorithm as unknown as AnyAlgorithm);
  return algorithm;
}

/**
 * The algorithm of a policy.
 *
 * @throws PolicyError for a value that is not a policy, or is one of an algorithm that is not in this bundle.
 */
export function algorithmOf(policy: unknown, field = 'policy'): AnyAlgorithm {
  const name = typeof policy === 'object' && policy !== null && 'algorithm' in policy ? policy.algorithm : undefined;
  const found = registered.find((algorithm) => algorithm.name === name);
  if (found !== undefined) return found;
  const makers = registered.filter(({ factory }) => factory !== undefined).map((algorithm) => algorithm.name);
  throw new PolicyError(
    field,
    `${field} must be a policy made by ${listed(makers, 'or')}, such as fixedWindow({ limit: 100, window: "1m" }), got ${typeof policy === 'function' ? 'a function that was not called' : shown(policy)}` +
      (name === undefined
        ? ''
        : `; a bundle knows the algorithms whose functions it uses; known algorithms: ${listed(registered.map((algorithm) => algorithm.name))}`),
  );
}

/** The name of a function that makes policies, also where a bundle has renamed it; undefined for any other value. */
export function makerName(value: unknown): string | undefined {
  return registered.find(({ factory }) => factory !== undefined && factory.make === value)?.name;
}
