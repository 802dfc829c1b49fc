// The cost of a limit in a fetch handler on Bun and Deno, beside the same server that writes two fields by hand: CPU
// time a request, in turn.
//
//   npm run matrix -- runtimes web      installs the runtimes
//   node packages/benchmarks/src/runtimes/fetch.mjs [ROUNDS]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const REQUESTS = 60_000;
const CONNECTIONS = 32;
const ROUNDS = Number(process.argv[2] ?? 5);
const folder = fileURLToPath(new URL('../../../../node_modules/.cache/sluice/runtimes/node_modules/', import.meta.url));
const program = fileURLToPath(new URL('fetch-server.mjs', import.meta.url));
const runtimes = {
  Bun: [`${folder}@oven/bun-linux-x64/bin/bun`],
  Deno: [
    `${folder}@deno/linux-x64-glibc/deno`,
    'run',
    '--allow-all',
    '--no-lock',
    '--node-modules-dir=manual',
    '--quiet',
  ],
};

for (const [name, command] of Object.entries(runtimes)) {
  const costs = { 'by hand': [], sluice: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const contender of Object.keys(costs)) costs[contender].push(await measure(command, contender));
  }
  const [byHand, sluice] = Object.values(costs).map((all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)]);
  console.log(
    `${name}: by hand ${byHand.toFixed(1)} us, sluice ${sluice.toFixed(1)} us a request, ratio ${(byHand / sluice).toFixed(2)}`,
  );
}

/** CPU time a request in microseconds, the start included. */
async function measure([binary, ...args], contender) {
  const child = spawn(binary, [...args, program, contender], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const port = Number((await lines.next()).value);
  await Promise.all(Array.from({ length: CONNECTIONS }, () => ask(port, REQUESTS / CONNECTIONS)));
  child.kill();
  const cpuUs = Number((await lines.next()).value);
  return cpuUs / REQUESTS;
}

async function ask(port, count) {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  for (let i = 0; i < count; i++) {
    socket.write('GET / HTTP/1.1\r\nHost: bench\r\n\r\n');
    await once(socket, 'data');
  }
  socket.destroy();
}
