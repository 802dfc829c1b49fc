import { Registry } from 'prom-client';
import type { Entrance } from '../access.ts';
import type { Service } from '../service.ts';
import type { Route } from '../transport/http.ts';
import { sendText } from '../transport/send.ts';

/** Metrics in Prometheus format, for callers with rights. */
export function makeMetricsRoute({ access, stats }: Service, entrance: Entrance): Route {
  return {
    path: '/metrics',
    method: 'GET',
    check: (request) => {
      access.check(request, entrance, true);
    },
    handle: async (_request, response) => {
      sendText(response, 200, await stats.metrics(), Registry.PROMETHEUS_CONTENT_TYPE);
    },
  };
}
