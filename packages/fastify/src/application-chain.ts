import type { FastifyInstance } from 'fastify';

/** The application and the scopes around it, the outermost first. */
export function chainOf(app: FastifyInstance): readonly FastifyInstance[] {
  const chain: FastifyInstance[] = [];
  for (let at: unknown = app; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    chain.unshift(at as FastifyInstance);
  }
  return chain;
}
