export {
  byAll,
  byHeader,
  byIp,
  byMethod,
  byRoute,
  byUser,
  type ByIpOptions,
  type Key,
  type KeyPart,
  type KeyReader,
  type KeyValue,
} from './keys/key-parts.ts';
export type { Limited } from './with-limiter.ts';
export type { RateLimitInfo } from './framework.ts';
export type { HeaderFormat, HeadersOption } from './response/headers.ts';
export type { HttpLimitOptions, KeyByLimit, PolicyOption } from './option-types.ts';
export type { OnMissingKey, RefundOptions, RefundWhen } from './options.ts';
export { RateLimitError, type Denial, type DenialStatuses } from './response/denial.ts';
export type { ResponsePlan } from './response-plan.ts';
