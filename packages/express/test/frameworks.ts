import express5 from 'express';
// @ts-expect-error -- under its alias it has no types: what these tests use of it has those of Express 5
import express4 from 'express-4';

/** What `@sluice/express` promises to work on: every suite runs on each. */
export const frameworks = [
  { version: 'Express 5', express: express5 },
  { version: 'Express 4', express: express4 as typeof express5 },
];
