export type { Service } from './service.ts';
