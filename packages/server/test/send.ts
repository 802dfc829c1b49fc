import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  readonly body?: string;
  /** An address of the loopback. */
  readonly from?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** Sends one request over a connection of its own. */
export async function send(port: number, { method, path = '/', headers, body, from }: Sent = {}): Promise<Answer> {
  const sent = request({
    ...{ host: '127.0.0.1', port, agent: false, method: method ?? 'GET', path },
    headers: { ...headers } as Record<string, string | string[]>,
    ...(from === undefined ? {} : { localAddress: from }),
  });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const fields = Object.entries(answer.headersDistinct).map(
    ([name, values = []]) => [name, values.join(', ')] as const,
  );
  return { status: answer.statusCode ?? 0, headers: Object.fromEntries(fields), body: await text(answer) };
}
