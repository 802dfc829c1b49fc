import { request, type Agent, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

const BODY = JSON.stringify({ keys: { login: 'ann' } });

/**
 * Asks one of these services, beginning with a preferred one, and another one only where it accepts no connection: what
 * has been sent must be answered. Returns the status, or the code of the error.
 */
export async function askEither(agent: Agent, ports: readonly number[], preferred: number): Promise<string> {
  let code = '';
  for (let i = 0; i < ports.length; i++) {
    code = await ask(agent, ports[(preferred + i) % ports.length] as number);
    if (code !== 'ECONNREFUSED') return code;
  }
  return code;
}

async function ask(agent: Agent, port: number): Promise<string> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json' };
    const sent = request({ agent, host: '127.0.0.1', port, method: 'POST', path: '/v1/consume', headers });
    sent.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      resolve(code ?? message);
    });
    sent.on('response', (response: IncomingMessage) => {
      text(response).then(
        () => {
          resolve(String(response.statusCode));
        },
        (error: unknown) => {
          resolve((error as Error).message);
        },
      );
    });
    sent.end(BODY);
  });
}
