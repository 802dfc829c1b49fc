import { describe } from '@jest/globals';
import { nginx } from './nginx.ts';
import { answers, failures } from './gateway-answers.ts';
import { spellings } from './gateway-spellings.ts';

describe.each([nginx])('forward auth through $name', (target) => {
  answers(target);
  spellings(target);
  failures(target);
});
