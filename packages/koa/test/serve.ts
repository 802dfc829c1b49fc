import { afterEach } from '@jest/globals';
import { listen, type Listening } from '@sluice/testkit';
import type Koa from 'koa';

/** An application that listens. */
export interface Served extends Listening {
  readonly ask: (path?: string, request?: RequestInit) => Promise<{ status: number; headers: Headers; text: string }>;
  /** The statuses of requests for these paths, one after the other. */
  readonly statuses: (...paths: readonly string[]) => Promise<number[]>;
}

/** Serves applications until a test ends. To be called inside `describe`. */
export function useServers(): (app: Koa) => Promise<Served> {
  const running = new Set<Listening>();
  afterEach(async () => {
    await Promise.all([...running].map(({ close }) => close()));
    running.clear();
  });
  return async (app) => {
    const answer = app.callback();
    const listening = await listen((request, response) => void answer(request, response));
    running.add(listening);
    const ask: Served['ask'] = async (path = '/', request = {}) => {
      const { status, headers, body } = await fetch(`http://127.0.0.1:${String(listening.port)}${path}`, request);
      return { status, headers, text: await new Response(body).text() };
    };
    return {
      ...{ ...listening, ask },
      async statuses(...paths) {
        const statuses: number[] = [];
        for (const path of paths) statuses.push((await ask(path)).status);
        return statuses;
      },
    };
  };
}
