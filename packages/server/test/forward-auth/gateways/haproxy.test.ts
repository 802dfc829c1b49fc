import { describe } from '@jest/globals';
import { haproxy } from './haproxy.ts';
import { answers, failures } from './gateway-answers.ts';
import { spellings } from './gateway-spellings.ts';

describe.each([haproxy])('forward auth through $name', (target) => {
  answers(target);
  spellings(target);
  failures(target);
});
