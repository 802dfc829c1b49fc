// Runs one command line after the other, as built, in one process. Reads each as a line of JSON. Ends what a command
// printed with its exit code, a digit, and a zero byte; on standard error, with a zero byte.
import { createInterface } from 'node:readline';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { run } from '../dist/run.js';

for await (const line of createInterface({ input: process.stdin })) {
  const code = await run(JSON.parse(line));
  await nextTurn(); // Node prints warnings late
  process.stderr.write('\0');
  process.stdout.write(`${code}\0`);
}
