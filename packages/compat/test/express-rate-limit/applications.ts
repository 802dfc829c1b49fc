import { listen } from '@sluice/testkit';
import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import express from 'express';
import { get, type Received } from '../get.ts';

export interface Running {
  get(path?: string, headers?: Record<string, string>): Promise<Received>;
  /** Asks for these paths in turn, each once the one before was answered. */
  statuses(...paths: readonly string[]): Promise<readonly (number | undefined)[]>;
  close(): Promise<void>;
}

/** An application of Express with these middleware: `/error` answers 400, all other paths 200. */
export async function serve(
  middleware: readonly RequestHandler[],
  setUp: (app: Express) => void = () => undefined,
): Promise<Running> {
  const app = express();
  setUp(app);
  if (middleware.length > 0) app.use(...middleware);
  app.get('/error', (_request, response) => void response.status(400).send('bad'));
  app.use((_request, response) => void response.send('good'));
  const answerError: ErrorRequestHandler = (error: Error, _request, response, _next) => {
    response.status(500).send(error.message);
  };
  app.use(answerError);
  const { port, close } = await listen(app);
  return {
    get: (path = '/', headers = {}) => get(port, path, headers),
    statuses: async (...paths) => {
      const all: (number | undefined)[] = [];
      for (const path of paths) all.push((await get(port, path, {})).status);
      return all;
    },
    close,
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
