import type { IncomingMessage } from 'node:http';
import { Registry } from 'prom-client';
import type { Entrance } from '../access.ts';
import { healthRoute } from '../health/health-route.ts';
import type { WaitingBodies } from '../transport/bodies.ts';
import type { Route } from '../transport/http.ts';
import { writtenMetrics, writtenStats } from '../stats/stats-report.ts';
import { sendProblem, sendText } from '../transport/send.ts';
import type { Service } from '../service.ts';
import { decideRoute } from '../native/http/decide-route.ts';
import { nativeRoutes } from '../native/http/native-routes.ts';

/** Where operators look: what is configured, what was counted, and `/v1` to refund, reset and block. */
export function adminRoutes(service: Service, entrance: Entrance, waiting: WaitingBodies): readonly Route[] {
  return [
    healthRoute(service.health),
    guarded(service, entrance, '/rlconfig', () => service.configuration.written()),
    guarded(service, entrance, '/stats', async () => writtenStats(await service.stats.reports())),
    metricsRoute(service, entrance),
    decideRoute(service, entrance, waiting),
    ...nativeRoutes(service, entrance, waiting),
  ];
}

/** Metrics in the format of Prometheus. */
export function metricsRoute(service: Service, entrance: Entrance): Route {
  const read = async (): Promise<string> => writtenMetrics(await service.stats.reports());
  return guarded(service, entrance, '/metrics', read, Registry.PROMETHEUS_CONTENT_TYPE);
}

function guarded(
  service: Service,
  entrance: Entrance,
  path: string,
  read: () => string | Promise<string>,
  type?: string,
): Route {
  return {
    path,
    method: 'GET',
    handle: async (request: IncomingMessage, response) => {
      const problem = service.access.problemOfPage(request, entrance);
      if (problem !== undefined) {
        sendProblem(response, 403, 'Forbidden', problem);
      } else if (service.access.allows(entrance, request.headers.authorization)) {
        sendText(response, 200, await read(), type);
      } else {
        sendProblem(
          response,
          401,
          'Unauthorized',
          `${path} needs the header field Authorization: Bearer TOKEN, with the token of the service`,
          {
            'www-authenticate': 'Bearer',
          },
        );
      }
    },
  };
}
