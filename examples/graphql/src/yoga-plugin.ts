import type { ExecutionArgs } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { QueryLimit } from './query-limit.ts';

/**
 * Limits what Yoga runs.
 *
 * @param clientOf - The user of a request, or its address.
 */
export function yogaRateLimit(limit: QueryLimit, clientOf: (request: Request) => string): Plugin {
  const headersOf = new WeakMap<Request, Readonly<Record<string, string>>>();
  return {
    async onExecute({ args, setResultAndStopExecution }) {
      const { schema, document, variableValues, operationName, contextValue } = args as ExecutionArgs;
      const { request } = contextValue as { readonly request: Request };
      const { headers, error } = await limit.decide(clientOf(request), {
        schema,
        document,
        variables: variableValues ?? {},
        operationName: operationName ?? undefined,
      });
      headersOf.set(request, headers);
      if (error !== undefined) setResultAndStopExecution({ errors: [error] });
    },
    onResponse({ request, response }) {
      for (const [name, value] of Object.entries(headersOf.get(request) ?? {})) response.headers.set(name, value);
    },
  };
}
