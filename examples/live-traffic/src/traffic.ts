import { setMaxListeners } from 'node:events';
import type { ClientStatistics } from './client-statistics.ts';
import { clientKinds } from './clients.ts';
import { HttpClient } from './http-client.ts';
import { Visitor } from './visitor.ts';

export interface Traffic {
  /** Lets every client finish the request it is in. */
  stop(): Promise<void>;
}

/** Sends all clients to the API: some 250 requests a second together. */
export function startTraffic(baseUrl: string, statistics: ClientStatistics): Traffic {
  const http = new HttpClient(baseUrl);
  const life = new AbortController();
  setMaxListeners(0, life.signal); // every client waits on it
  const lives = clientKinds.flatMap(({ name, addresses, behave }) =>
    addresses.map((address) => behave(new Visitor(address, name, http, statistics, life.signal))),
  );
  return {
    stop: async () => {
      life.abort();
      await Promise.all(lives);
      http.close();
    },
  };
}
