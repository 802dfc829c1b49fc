import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from './raw-http.ts';
import { useClosing } from './use-closing.ts';

/** A request of a test. */
export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

/** A complete response. */
export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; several lines of one field are joined by commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** Sends one request over its own connection. Normalizes and retries nothing. */
export async function send(port: number, { method, path, headers, body }: Sent): Promise<HttpAnswer> {
  const sent = request({
    ...{ host: '127.0.0.1', port, method, path, agent: false },
    headers: { ...headers } as Record<string, string | string[]>,
  });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const fields: Record<string, string | undefined> = {};
  for (const [name, values = []] of Object.entries(answer.headersDistinct)) fields[name] = values.join(', ');
  return { status: answer.statusCode ?? 0, headers: fields, body: await text(answer) };
}

/** A client of a server. Its requests are written as `/path` or `HEAD /path`. */
export interface HttpClient {
  readonly port: number;
  readonly ask: (asked?: string, more?: Pick<Sent, 'headers' | 'body'>) => Promise<HttpAnswer>;
  /** The answers to requests, one after the other. */
  readonly answers: (...asked: readonly string[]) => Promise<HttpAnswer[]>;
  readonly statuses: (...asked: readonly string[]) => Promise<number[]>;
}

export function newClient(port: number): HttpClient {
  const ask: HttpClient['ask'] = (asked = '/', more = {}) => {
    const [path = '/', method = 'GET'] = asked.split(' ').reverse();
    return send(port, { method, path, ...more });
  };
  const answers: HttpClient['answers'] = async (...asked) => {
    const all: HttpAnswer[] = [];
    for (const one of asked) all.push(await ask(one));
    return all;
  };
  return { port, ask, answers, statuses: async (...asked) => (await answers(...asked)).map(({ status }) => status) };
}

/** Serves applications until a test ends. Call it inside `describe`, or at the top of a file. */
export function useServers(): (app: Parameters<typeof listen>[0]) => Promise<HttpClient> {
  const closing = useClosing();
  return async (app) => newClient(closing(await listen(app)).port);
}
