import { expect } from '@jest/globals';

/** For `toThrow`: a CallError with this status of gRPC. */
export function failingWith(code: number): Error {
  return expect.objectContaining({ name: 'CallError', code }) as unknown as Error;
}
