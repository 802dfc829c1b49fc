/** The status codes of gRPC that the service answers: https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
export const Status = {
  OK: 0,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

export type StatusCode = (typeof Status)[keyof typeof Status];

/** A call that ends with a status other than OK. The caller receives its message. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly code: StatusCode;

  constructor(code: StatusCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * A message as the field `grpc-message` carries it: UTF-8, with every byte that is not printable ASCII as `%` and two
 * digits.
 */
export function encodeMessage(message: string): string {
  return message.replace(/[^ -$&-~]+/gu, (text) =>
    [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}
