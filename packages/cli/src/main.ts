#!/usr/bin/env node
import { EXIT, Failure, printError } from './failure.ts';
import { run } from './run.ts';

// The reader of a pipe may close it early: `sluice policy list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  // A full disk: the output is incomplete.
  printError(new Failure(`cannot write the output: ${error.message}`));
  process.exit(EXIT.failed);
});
// Not process.exit(), which loses output that a pipe has not accepted yet.
process.exitCode = await run(process.argv.slice(2));
