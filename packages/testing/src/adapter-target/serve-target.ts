import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { Control } from './control.ts';
import type { ControlMessage } from './descriptions.ts';
import type { AdapterTarget } from './target.ts';

/**
 * Serves the control of a target on a free port of 127.0.0.1, and prints its URL as the first line: the whole program of a target
 * that is a process of its own. It ends with its standard input, so that none outlives its driver.
 */
export async function serveTarget(target: AdapterTarget): Promise<void> {
  const control = new Control(target);
  const server = createServer((request, response) => {
    void answerTo(control, request).then((answer) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answer));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.stdout.write(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}/\n`);
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
}

async function answerTo(control: Control, request: IncomingMessage): Promise<object> {
  return control.answer((await json(request)) as ControlMessage);
}
