import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/** A request of a test. */
export interface HttpRequest {
  /** Default `GET`. */
  readonly method?: string;
  /** Default `/items`, where the suite's usual route is. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

/** A complete response. */
export interface HttpAnswer {
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case; several lines of one field joined by commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** Sends one request over a connection of its own. It normalises nothing and retries nothing. */
export async function send(port: number, { method, path, headers, body }: HttpRequest = {}): Promise<HttpAnswer> {
  const sent = request({
    host: '127.0.0.1',
    port,
    method: method ?? 'GET',
    path: path ?? '/items',
    headers: { ...headers } as Record<string, string | string[]>,
    agent: false,
  });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const fields: Record<string, string | undefined> = {};
  for (const [name, values = []] of Object.entries(answer.headersDistinct)) fields[name] = values.join(', ');
  return {
    status: answer.statusCode ?? 0,
    statusText: answer.statusMessage ?? '',
    headers: fields,
    body: await text(answer),
  };
}
