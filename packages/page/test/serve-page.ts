import type { RequestListener } from 'node:http';
import { page, type PageHandler, type PageOptions } from '@sluice/page';
import { listen, useClosing } from '@sluice/testkit';
import type { KeyState } from '../src/key-actions.ts';
import type { Snapshot } from '../src/snapshot.ts';

export const TOKEN = 'a long secret';
/** Ends what a test has opened, after it. */
export const closing: ReturnType<typeof useClosing> = useClosing();

export async function findPort(listener: RequestListener): Promise<number> {
  return closing(await listen(listener)).port;
}

/** A page that no server serves. */
export function pageWith(options: PageOptions = {}): PageHandler {
  const made = page({ token: TOKEN, log: () => undefined, ...options });
  closing(() => made.close());
  return made;
}

export interface Asked {
  readonly token?: string | undefined;
  readonly fields?: Readonly<Record<string, string>>;
}

/** Sends a request to a page as a fetch handler. */
export async function ask(
  handler: PageHandler,
  name: string,
  body?: unknown,
  { token = TOKEN, fields = {} }: Asked = {},
): Promise<{ status: number; headers: Headers; text: string; json: never }> {
  const headers = {
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json', 'x-sluice-page': '1' }),
    ...fields,
  };
  const init = { headers, ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }) };
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

export const readSnapshot = async (made: PageHandler): Promise<Snapshot> => (await ask(made, 'snapshot')).json;

/** The states of a key, as a program gets them. */
export const lookUp = async (made: PageHandler, key: string): Promise<readonly KeyState[]> =>
  (await ask(made, 'key', { key })).json;
