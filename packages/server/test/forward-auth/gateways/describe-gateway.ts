import { describe } from '@jest/globals';
import { answers, failures } from './gateway-answers.ts';
import { spellings } from './gateway-spellings.ts';
import type { GatewayTarget } from './gateway-target.ts';

/** What a gateway does with the answers of the service, and that no request escapes its limit through it. */
export function describeGateway(target: GatewayTarget): void {
  describe(`forward auth through ${target.name}`, () => {
    answers(target);
    spellings(target);
    failures(target);
  });
}
