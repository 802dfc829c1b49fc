import { describe } from '@jest/globals';
import { caddy } from './caddy.ts';
import { answers, failures } from './gateway-answers.ts';
import { spellings } from './gateway-spellings.ts';

describe.each([caddy])('forward auth through $name', (target) => {
  answers(target);
  spellings(target);
  failures(target);
});
