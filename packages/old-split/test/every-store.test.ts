import { fixedMembership, splitStore } from '@sluice/old-split';
import { describeSetUps, limiterForSetUp } from '@sluice/testkit';

describeSetUps({
  split: (policy) =>
    limiterForSetUp({ policy, store: splitStore({ membership: fixedMembership({ instances: 1, index: 0 }) }) }),
});
