#!/usr/bin/env node
import { run } from './run.ts';

// The reader of a pipe may close it early: `sluice policy list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
// Not process.exit(), which loses output that a pipe has not taken yet.
process.exitCode = await run(process.argv.slice(2));
