import { describe } from '@jest/globals';
import { answers, failures } from './gateway-answers.ts';
import { spellings } from './gateway-spellings.ts';
import type { GatewayTarget } from './gateway-target.ts';

/** What forward auth promises through a gateway with the configuration of its example. */
export function describeGateway(target: GatewayTarget): void {
  describe(`forward auth through ${target.name}`, () => {
    answers(target);
    spellings(target);
    failures(target);
  });
}
