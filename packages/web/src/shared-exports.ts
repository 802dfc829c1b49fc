// What both entry points have beside all of core: keys, errors, types, and where addresses come from.
export { byAll, byHeader, byIp, byMethod, byRoute, byUser } from '@sluice/core/http';
export { canonicalAddress, denialFor, fieldWriter, RateLimitError } from '@sluice/core/http';
export type { Key, KeyByLimit, KeyPart, KeyReader, KeyValue, Limited, RateLimitInfo } from '@sluice/core/http';
export type { HeadersOption, HttpLimitOptions, OnMissingKey, PolicyOption, RefundOptions } from '@sluice/core/http';
// Return types, which applications that emit declarations refer to.
export type { AddressReader, ByIpOptions, Denial, DenialStatuses, Field } from '@sluice/core/http';
export type { HeaderFormat, RefundWhen } from '@sluice/core/http';
export { fromBun, fromCloudflare, fromDeno, fromNode, fromProxy, fromVercel } from './addresses.ts';
export type { AddressOption, AddressSource } from './addresses.ts';
