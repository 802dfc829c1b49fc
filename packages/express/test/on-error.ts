import type { ErrorRequestHandler, Request, Response } from 'express';

/** An error handler, which Express knows by its four parameters. */
export function onError(answer: (error: Error, request: Request, response: Response) => void): ErrorRequestHandler {
  return (error: Error, request, response, _next) => {
    answer(error, request, response);
  };
}

/** Answers with 500 and what the error says of itself. */
export const tellError: ErrorRequestHandler = onError((error, _request, response) => {
  const { name, message, code, field } = error as Error & { code?: string; field?: string };
  response.status(500).json({ name, message, code, field });
});
