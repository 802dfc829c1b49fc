import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/** A request of a test. */
export interface Ask {
  /** Default: the usual route's. */
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  /** Moves the store's clock before sending. */
  readonly afterMs?: number;
}

/** A complete response. */
export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; several lines of one field are joined by commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** Sends one request over its own connection. Normalizes and retries nothing. */
export async function send(port: number, { method = 'GET', path, headers, body }: Ask): Promise<HttpAnswer> {
  const sent = request({
    ...{ host: '127.0.0.1', port, method, agent: false },
    path: path ?? '/',
    headers: { ...headers } as Record<string, string | string[]>,
  });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const fields: Record<string, string | undefined> = {};
  for (const [name, values = []] of Object.entries(answer.headersDistinct)) fields[name] = values.join(', ');
  return { status: answer.statusCode ?? 0, headers: fields, body: await text(answer) };
}

/** A request that takes this many units. */
export function cost(units: number, afterMs = 0): Ask {
  return { headers: { 'X-Cost': String(units) }, afterMs };
}

/** A request from a client behind the proxy that the application trusts. */
export function from(address: string, headers: Record<string, string> = {}): Ask {
  return { headers: { 'X-Forwarded-For': address, ...headers } };
}

export function withKey(key: string | readonly string[]): Ask {
  return { headers: { 'X-Api-Key': key } };
}

export function after(afterMs: number): Ask {
  return { afterMs };
}
