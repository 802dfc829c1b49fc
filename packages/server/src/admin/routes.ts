import { Registry } from 'prom-client';
import type { Entrance } from '../access.ts';
import { writeConfiguration } from '../config/written.ts';
import type { Service } from '../service.ts';
import type { Route } from '../transport/http.ts';
import { sendText } from '../transport/send.ts';

/** Where operators look: what is configured, and what was counted. */
export function adminRoutes(service: Service, entrance: Entrance): readonly Route[] {
  return [
    textRoute(service, entrance, '/rlconfig', () => writeConfiguration(service.configuration)),
    textRoute(service, entrance, '/stats', () => service.stats.text()),
  ];
}

/** Metrics in the format of Prometheus. */
export function metricsRoute(service: Service, entrance: Entrance): Route {
  return textRoute(service, entrance, '/metrics', () => service.stats.metrics(), Registry.PROMETHEUS_CONTENT_TYPE);
}

/** Text for callers with rights. */
function textRoute(
  { access }: Service,
  entrance: Entrance,
  path: string,
  read: () => string | Promise<string>,
  type?: string,
): Route {
  return {
    path,
    method: 'GET',
    check: (request) => {
      access.check(request, entrance, true);
    },
    handle: async (_request, response) => {
      sendText(response, 200, await read(), type);
    },
  };
}
