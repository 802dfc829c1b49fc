import type { CarryOver, EarlierVersion, Limit, Policy } from '@sluice/old-core';
import { MAKES_SOURCE, namePolicy, sourceKeySuffix, type LimitReference } from '@sluice/old-core/spi';

/** A policy that changes while states live on, as its processes see it: each at a version of its own. */
export interface ChangingPolicy {
  /** Makes the next version. Processes go on with theirs until they look again. */
  change(policy: Policy, carryOver: CarryOver): void;
  /** The policy as one more process sees it: as it is now, and newer once a state shows that there is more. */
  reference(): LimitReference;
}

export function changingPolicy(name: string, policy: Policy): ChangingPolicy {
  const history: { readonly policy: Policy; readonly carryOver: CarryOver }[] = [{ policy, carryOver: 'keep' }];
  return {
    change(next, carryOver) {
      history.push({ policy: next, carryOver });
    },
    reference() {
      let seen = history.length;
      let known: Limit | undefined;
      const value: LimitReference[typeof MAKES_SOURCE] = (own, { limitOf }) => {
        const named = (version: number): readonly ReturnType<typeof namePolicy>[] => [
          namePolicy(history[version - 1]?.policy, own),
        ];
        const current = (): Limit => {
          if (known?.policyVersion?.version === seen) return known;
          const { carryOver } = history[seen - 1] as { readonly carryOver: CarryOver };
          const earlier = new Map(
            history
              .slice(0, seen - 1)
              .map((_, i): [number, EarlierVersion] => [
                i + 1,
                { policies: carryOver === 'reset' ? [] : named(i + 1), carryOver },
              ]),
          );
          const renew = (): Promise<Limit> => {
            seen = history.length;
            return Promise.resolve(current());
          };
          return (known = limitOf(named(seen), sourceKeySuffix(name), { version: seen, earlier, renew }));
        };
        return { name: own, keySuffix: sourceKeySuffix(name), onMissing: 'deny', current };
      };
      return { name, [MAKES_SOURCE]: value };
    },
  };
}
