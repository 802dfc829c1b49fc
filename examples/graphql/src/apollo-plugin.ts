import type { ApolloServerPlugin, BaseContext } from '@apollo/server';
import type { QueryLimit } from './query-limit.ts';

/**
 * Limits what Apollo Server runs.
 *
 * @param clientOf - The user of a request, or its address, from the context.
 */
export function apolloRateLimit<Context extends BaseContext>(
  limit: QueryLimit,
  clientOf: (context: Context) => string,
): ApolloServerPlugin<Context> {
  return {
    async requestDidStart() {
      return Promise.resolve({
        async didResolveOperation({ contextValue, document, operationName, request, response, schema }) {
          const { headers, error } = await limit.decide(clientOf(contextValue), {
            schema,
            document,
            variables: request.variables ?? {},
            operationName: operationName ?? undefined,
          });
          for (const [name, value] of Object.entries(headers)) response.http.headers.set(name, value);
          if (error !== undefined) throw error;
        },
      });
    },
  };
}
