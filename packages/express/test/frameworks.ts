import { createRequire } from 'node:module';
import express5 from 'express';

// Under its alias it has no types: what these tests use of it has those of Express 5.
const express4 = createRequire(import.meta.url)('express-4') as typeof express5;

/** What `@sluice/express` promises to work on: every suite runs on each. */
export const frameworks = [
  { version: 'Express 5', express: express5 },
  { version: 'Express 4', express: express4 },
];
