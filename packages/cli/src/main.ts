#!/usr/bin/env node
import { run } from './run.ts';

// Whoever reads may have read enough: `sluice policy list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
// Not process.exit(): what is still on its way to a pipe would be lost.
process.exitCode = await run(process.argv.slice(2));
