export type { PeerStoreOptions } from '../call-limiter.ts';
export { ExpressStore } from '../express-rate-limit/express-store.ts';
export { fastifyStore, type FastifyStore, type FastifyStoreCallback, type FastifyStoreClass } from './fastify-store.ts';
export { NestStorage, type ThrottlerRecord } from './nest-storage.ts';
