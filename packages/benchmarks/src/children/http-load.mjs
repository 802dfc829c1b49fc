// The clients of a server: each sends its next request after the last response.
import { answer } from '../processes/answer.mjs';
import { openConnections } from '../measure/http-connection.mjs';
import { quantile } from '../measure/spread.mjs';

/** Clients of earlier slices, where each slice has others. */
let earlier = 0;

answer(() => ({
  slice: async ({ port, connections, ms, path, denied = 0, proxy = false }) => {
    const clients = await openConnections(port, connections, { path, proxy, denied, from: earlier });
    if (denied > 0) earlier += connections;
    const latencies = [];
    const statuses = {};
    const startMs = performance.now();
    const endMs = startMs + ms;
    let requests = 0;
    await Promise.all(
      clients.map(async (client) => {
        do {
          const askedMs = performance.now();
          const status = await client.ask();
          latencies.push(performance.now() - askedMs);
          statuses[status] = (statuses[status] ?? 0) + 1;
          requests++;
        } while (performance.now() < endMs);
      }),
    );
    const wallMs = performance.now() - startMs;
    for (const client of clients) client.end();
    return { requests, statuses, wallMs, p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99) };
  },
}));
