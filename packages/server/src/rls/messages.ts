import type { DescriptorEntry } from '../config/subject.ts';

/** `envoy.service.ratelimit.v3.RateLimitRequest`. */
export interface RateLimitRequest {
  readonly domain: string;
  readonly descriptors: readonly RateLimitDescriptor[];
  /** The hits of descriptors without their own. 0: not given, which counts as 1. */
  readonly hitsAddend: number;
}

/** `envoy.extensions.common.ratelimit.v3.RateLimitDescriptor`. */
export interface RateLimitDescriptor {
  readonly entries: readonly DescriptorEntry[];
  readonly limit: RateLimitOverride | undefined;
  /** 0: only a check. Undefined: those of the request. */
  readonly hitsAddend: number | undefined;
  /** Whether the hits are refunded. */
  readonly isNegativeHits: boolean;
}

/** A limit that the caller gives instead of the configuration's. */
export interface RateLimitOverride {
  readonly requestsPerUnit: number;
  /** A number of `envoy.type.v3.RateLimitUnit`, known or not. */
  readonly unit: number;
}

/** The codes of a response and of its statuses. */
export const OK = 1;
export const OVER_LIMIT = 2;
export type LimitCode = typeof OK | typeof OVER_LIMIT;

/** The used parts of `envoy.service.ratelimit.v3.RateLimitResponse`. */
export interface RateLimitResponse {
  readonly overallCode: LimitCode;
  /** One per descriptor, in order. */
  readonly statuses: readonly DescriptorStatus[];
  readonly responseHeadersToAdd: readonly HeaderValue[];
  /** A `google.protobuf.Struct`. */
  readonly dynamicMetadata: Readonly<Record<string, unknown>> | undefined;
}

export interface DescriptorStatus {
  readonly code: LimitCode;
  readonly currentLimit: CurrentLimit | undefined;
  /** A `uint32`. */
  readonly limitRemaining: number;
  /** Undefined where no limit applies. */
  readonly secondsUntilReset: number | undefined;
}

/** `RateLimitResponse.RateLimit`. */
export interface CurrentLimit {
  /** A `uint32`. */
  readonly requestsPerUnit: number;
  /** A number of `RateLimitResponse.RateLimit.Unit`. */
  readonly unit: number;
  readonly name: string | undefined;
}

/** `envoy.config.core.v3.HeaderValue`. */
export interface HeaderValue {
  readonly key: string;
  readonly value: string;
}

/** The largest `uint32`. */
export const MAX_UINT32: number = 2 ** 32 - 1;
