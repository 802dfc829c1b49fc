// The quick gates, side by side: `npm run check`. Prints what each of them printed, and how long it took, as soon as it
// ends.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const GATES = ['build', 'check:types', 'lint', 'check:links', 'check:unused'];
/** No check reads a file that another check writes. */
const AT_ONCE = 2;

const waiting = [...GATES];
const failed = [];

async function run(gate) {
  const began = performance.now();
  const child = spawn('npm', ['run', '-s', gate], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const status = await new Promise((ended) => child.on('close', ended));
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  if (status !== 0) failed.push(gate);
  console.log(
    `${status === 0 ? 'passed' : 'FAILED'}  ${gate} (${seconds} s)${output === '' ? '' : `\n${output.trimEnd()}`}`,
  );
}

async function lane() {
  for (let gate = waiting.shift(); gate !== undefined; gate = waiting.shift()) await run(gate);
}

await Promise.all(Array.from({ length: AT_ONCE }, lane));
if (failed.length > 0) console.error(`\nFailed: ${failed.join(', ')}`);
process.exit(failed.length === 0 ? 0 : 1);
