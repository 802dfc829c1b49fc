export {
  SluiceBackedStore as ExpressStore,
  type SluiceBackedStoreOptions as ExpressStoreOptions,
} from '../express-rate-limit/sluice-backed-store.ts';
export {
  fastifyStore,
  type FastifyStore,
  type FastifyStoreCallback,
  type FastifyStoreClass,
  type FastifyStoreOptions,
} from './fastify-store.ts';
export { NestStorage, type NestStorageOptions, type ThrottlerRecord } from './nest-storage.ts';
