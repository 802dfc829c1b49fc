import { describe } from '@jest/globals';
import { addresses } from './gateway-addresses.ts';
import { answers } from './gateway-answers.ts';
import { failures } from './gateway-failures.ts';
import { spellings } from './gateway-spellings.ts';
import type { GatewayTarget } from './gateway-target.ts';

/** What a gateway does with the answers of the service, and that no request escapes its limit through it. */
export function describeGateway(target: GatewayTarget): void {
  describe(`forward auth through ${target.name}`, () => {
    answers(target);
    spellings(target);
    addresses(target);
    failures(target);
  });
}
