import { useServers, type HttpClient } from '@sluice/testkit';
import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import express from 'express';

/**
 * Serves applications of Express with these middleware until a test ends: `/error` answers 400, all other paths 200.
 */
export function useApplications(): (
  middleware: readonly RequestHandler[],
  setUp?: (app: Express) => void,
) => Promise<HttpClient> {
  const serve = useServers();
  return (middleware, setUp) => {
    const app = express();
    setUp?.(app);
    if (middleware.length > 0) app.use(...middleware);
    app.get('/error', (_request, response) => void response.status(400).send('bad'));
    app.use((_request, response) => void response.send('good'));
    const answerError: ErrorRequestHandler = (error: Error, _request, response, _next) => {
      response.status(500).send(error.message);
    };
    return serve(app.use(answerError));
  };
}

/** A logger that keeps codes, or messages of errors without one. */
export function keepLog(): { readonly codes: string[]; error(error: unknown): void; warn(error: unknown): void } {
  const codes: string[] = [];
  const keep =
    (kind: string) =>
    (error: unknown): void => {
      const { code, message } = error as { readonly code?: string; readonly message: string };
      codes.push(`${kind} ${code ?? message}`);
    };
  return { codes, error: keep('error'), warn: keep('warn') };
}
