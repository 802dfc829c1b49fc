import { afterEach } from '@jest/globals';
import type { RequestListener } from 'node:http';
import { page, type PageHandler, type PageOptions } from '@sluice/page';
import { listen } from '@sluice/testkit';

export const TOKEN = 'a long secret';
const opened: (() => unknown)[] = [];

/** Ends what a test has opened, after it. */
export function useCleanUp(): (end: () => unknown) => void {
  afterEach(async () => {
    for (const end of opened.splice(0).reverse()) await end();
  });
  return (end) => opened.push(end);
}

export async function findPort(listener: RequestListener): Promise<number> {
  const { port, close } = await listen(listener);
  opened.push(close);
  return port;
}

/** A page that no server serves. */
export function pageWith(options: PageOptions = {}): PageHandler {
  const made = page({ token: TOKEN, log: () => undefined, ...options });
  opened.push(() => made.close());
  return made;
}

export interface Asked {
  readonly token?: string | undefined;
  readonly fields?: Readonly<Record<string, string>>;
  readonly method?: string;
}

/** Sends a request to a page as a fetch handler. */
export async function ask(
  handler: PageHandler,
  name: string,
  body?: unknown,
  { token = TOKEN, fields = {}, method = body === undefined ? 'GET' : 'POST' }: Asked = {},
): Promise<{ status: number; headers: Headers; text: string; json: never }> {
  const headers = {
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json', 'x-sluice-page': '1' }),
    ...fields,
  };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const init = { method, headers, ...(body === undefined ? {} : { body: text }) };
  const response = await handler(new Request(`http://localhost/limits/${name}`, init));
  const answer = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return {
    status: response.status,
    headers: response.headers,
    text: answer,
    json: (isJson ? JSON.parse(answer) : undefined) as never,
  };
}
