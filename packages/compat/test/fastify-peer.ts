import { createRequire } from 'node:module';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';

/** Its options, which have no types here. */
export type PeerOptions = Readonly<Record<string, unknown>>;

/** What the peer adds to an application. */
export interface PeerDecorators {
  createRateLimit(): (request: FastifyRequest, options?: { readonly increment: boolean }) => Promise<unknown>;
}

/**
 * `@fastify/rate-limit`, without its types: it and `@sluice/fastify` both say what `config.rateLimit` of a route is, and a
 * program has one such type.
 */
export const peer = createRequire(import.meta.url)('@fastify/rate-limit') as FastifyPluginAsync<PeerOptions>;
