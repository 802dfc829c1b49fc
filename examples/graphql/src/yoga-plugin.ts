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
      const { request } = args.contextValue as { readonly request: Request };
      const { headers, error } = await limit.decide(clientOf(request), {
        schema: args.schema,
        document: args.document,
        variables: args.variableValues ?? {},
        operationName: args.operationName ?? undefined,
      });
      headersOf.set(request, headers);
      if (error !== undefined) setResultAndStopExecution({ errors: [error] });
    },
    onResponse({ request, response }) {
      for (const [name, value] of Object.entries(headersOf.get(request) ?? {})) response.headers.set(name, value);
    },
  };
}
