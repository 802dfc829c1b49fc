// Listens on sluice:decision with one function that throws and one that does not, and prints the outcome of a
// decision.
//
// argv: `caught` to handle uncaught exceptions
import { subscribe } from 'node:diagnostics_channel';
import { setImmediate } from 'node:timers';
import { createLimiter, fixedWindow } from '@sluice/old-core';

const [mode] = process.argv.slice(2);
const print = (line) => process.stdout.write(`${line}\n`);
if (mode === 'caught') process.on('uncaughtException', ({ message }) => print(`uncaught: ${message}`));
subscribe('sluice:decision', () => {
  throw new Error('a bug in a subscriber');
});
subscribe('sluice:decision', ({ decision }) => print(`heard: ${decision.outcome}`));

const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1h' }) });
for (let i = 0; i < 2; i++) {
  const { outcome } = await limiter.consume('key');
  print(`decided: ${outcome}`);
  await new Promise(setImmediate);
}
