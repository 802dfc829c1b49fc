export type {
  AdapterTarget,
  Answer,
  AnyRequest,
  Call,
  Impossible,
  RunningApp,
  SuiteApp,
  SuiteOptions,
  SuiteRoute,
} from '../adapter-target/target.ts';
export { withoutHttp2 } from '../adapter-target/without-http2.ts';
export type * from '../adapter-target/descriptions.ts';
export type { Runner } from '../runner.ts';
export { contractParts, type ContractOptions, type ContractPart } from './contract-options.ts';
export type { ContractRedis } from './contract-redis.ts';
export { processTarget, type ContractTarget, type ControlLine, type ProcessTarget } from './contract-target.ts';
export { describeAdapter } from './describe-adapter.ts';
