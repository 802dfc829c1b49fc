import protobuf from 'protobufjs';

/** The messages of Envoy's rate limit service, written from their documentation. */
const PROTO = `
syntax = "proto3";
package sluice.test;

message RateLimitRequest {
  string domain = 1;
  repeated RateLimitDescriptor descriptors = 2;
  uint32 hits_addend = 3;
}
message RateLimitDescriptor {
  message Entry { string key = 1; string value = 2; }
  message RateLimitOverride { uint32 requests_per_unit = 1; RateLimitUnit unit = 2; }
  repeated Entry entries = 1;
  RateLimitOverride limit = 2;
  UInt64Value hits_addend = 3;
  bool is_negative_hits = 4;
}
enum RateLimitUnit { UNKNOWN = 0; SECOND = 1; MINUTE = 2; HOUR = 3; DAY = 4; MONTH = 5; YEAR = 6; }
message UInt64Value { uint64 value = 1; }

message RateLimitResponse {
  enum Code { UNKNOWN = 0; OK = 1; OVER_LIMIT = 2; }
  message RateLimit {
    enum Unit { UNKNOWN = 0; SECOND = 1; MINUTE = 2; HOUR = 3; DAY = 4; MONTH = 5; YEAR = 6; WEEK = 7; }
    uint32 requests_per_unit = 1;
    Unit unit = 2;
    string name = 3;
  }
  message DescriptorStatus {
    Code code = 1;
    RateLimit current_limit = 2;
    uint32 limit_remaining = 3;
    Duration duration_until_reset = 4;
  }
  Code overall_code = 1;
  repeated DescriptorStatus statuses = 2;
  repeated HeaderValue response_headers_to_add = 3;
  repeated HeaderValue request_headers_to_add = 4;
  bytes raw_body = 5;
  Struct dynamic_metadata = 6;
}
message HeaderValue { string key = 1; string value = 2; bytes raw_value = 3; }
message Duration { int64 seconds = 1; int32 nanos = 2; }
message Struct { map<string, Value> fields = 1; }
message Value {
  oneof kind {
    NullValue null_value = 1;
    double number_value = 2;
    string string_value = 3;
    bool bool_value = 4;
    Struct struct_value = 5;
    ListValue list_value = 6;
  }
}
enum NullValue { NULL_VALUE = 0; }
message ListValue { repeated Value values = 1; }
`;

const { root } = protobuf.parse(PROTO, { keepCase: false });

const type = (name: string): protobuf.Type => root.lookupType(`sluice.test.${name}`);
export const RequestType: protobuf.Type = type('RateLimitRequest');
const ResponseType: protobuf.Type = type('RateLimitResponse');

/** A request as tests write it. */
export interface RequestFields {
  readonly domain?: string;
  readonly hitsAddend?: number;
  readonly descriptors?: readonly DescriptorFields[];
}

export interface DescriptorFields {
  readonly entries?: readonly { readonly key?: string; readonly value?: string }[];
  readonly limit?: { readonly requestsPerUnit?: number; readonly unit?: number };
  readonly hitsAddend?: { readonly value?: number | string };
  readonly isNegativeHits?: boolean;
}

/** A response as protobufjs decodes it: fields without a value are left out. */
export interface ResponseFields {
  readonly overallCode: 'OK' | 'OVER_LIMIT';
  readonly statuses?: readonly StatusFields[];
  readonly responseHeadersToAdd?: readonly { readonly key: string; readonly value: string }[];
  readonly dynamicMetadata?: { readonly fields: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
}

export interface StatusFields {
  readonly code: 'OK' | 'OVER_LIMIT';
  readonly currentLimit?: { readonly requestsPerUnit?: number; readonly unit?: string; readonly name?: string };
  readonly limitRemaining?: number;
  readonly durationUntilReset?: { readonly seconds?: number; readonly nanos?: number };
}

export function encodeRequest(fields: RequestFields): Buffer {
  return Buffer.from(RequestType.encode(RequestType.fromObject(fields)).finish());
}

export function decodeResponse(bytes: Uint8Array): ResponseFields {
  return ResponseType.toObject(ResponseType.decode(bytes), { longs: Number, enums: String }) as ResponseFields;
}

/** The methods of the service. */
export const PATHS = {
  rateLimit: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
  health: '/grpc.health.v1.Health/Check',
} as const;
