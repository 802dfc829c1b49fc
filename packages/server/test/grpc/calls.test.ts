import { Client, credentials, status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeResponse, encodeRequest, PATHS, type RequestFields } from '../rls/protocol.ts';
import { frameOf, type GrpcClient } from '../rls/grpc-client.ts';
import { descriptor, runService, type RunningService } from '../rls/running-service.ts';

const LIMITS = `
domain: basic
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 1000000 }
`;
const REQUEST = { domain: 'basic', descriptors: [descriptor('user=ann')] };
const FRAME = frameOf(encodeRequest(REQUEST));
const MEBIBYTE = 1024 * 1024;

describe('a call', () => {
  let running: RunningService;
  let raw: GrpcClient;
  beforeAll(async () => {
    running = await runService(LIMITS);
    raw = running.client;
  });
  afterAll(() => running.close());

  it('is answered with one message and the status in trailers', async () => {
    const answer = await raw.call({ chunks: [FRAME] });

    expect(answer).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/grpc' },
      trailers: { 'grpc-status': '0' },
      rstCode: 0,
    });
    expect(answer.headers['grpc-status']).toBeUndefined();
    expect(decodeResponse(answer.body.subarray(5)).overallCode).toBe('OK');
    expect(answer.body.readUInt32BE(1)).toBe(answer.body.length - 5);
  });

  it('is answered as grpc-js expects it, and fails as it expects it', async () => {
    const client = new Client(`127.0.0.1:${String(running.port)}`, credentials.createInsecure());
    const ask = (request: RequestFields): Promise<unknown> =>
      new Promise((resolve) => {
        client.makeUnaryRequest(PATHS.rateLimit, encodeRequest, decodeResponse, request, (error, response) => {
          resolve(error === null ? response : [codes[error.code], error.details]);
        });
      });

    expect(await ask(REQUEST)).toMatchObject({ overallCode: 'OK', statuses: [{ code: 'OK' }] });
    expect(await ask({ domain: 'basic' })).toEqual(['UNKNOWN', 'the list of descriptors must not be empty']);
    client.close();
  });

  it.each([
    ['application/grpc+proto', 200],
    ['application/grpc; charset=utf-8', 200],
    ['application/grpc+json', 415],
    ['application/grpcweb', 415],
    ['application/json', 415],
  ])('of the content type %s gets HTTP status %i', async (contentType, status) => {
    expect(await raw.call({ headers: { 'content-type': contentType }, chunks: [FRAME] })).toMatchObject({ status });
  });

  it.each([
    '/envoy.service.ratelimit.v3.RateLimitService/Other',
    '/grpc.reflection.v1.ServerReflection/Info',
    '/',
    '/x%00',
  ])('of the unknown method %s is UNIMPLEMENTED, without trailers', async (path) => {
    const answer = await raw.call({ path, chunks: [FRAME] });

    expect(answer).toMatchObject({ status: 200, grpcStatus: 12, trailers: {}, rstCode: 0 });
    expect(answer.headers).toMatchObject({ 'content-type': 'application/grpc', 'grpc-status': '12' });
  });

  it.each([
    ['no message', [], 12],
    ['two messages in one frame', [Buffer.concat([FRAME, FRAME])], 12],
    ['two messages in two frames', [FRAME, FRAME], 12],
    ['a byte behind its message', [FRAME, Buffer.alloc(1)], 12],
    ['half a message', [FRAME.subarray(0, 10)], 13],
    ['half a prefix', [FRAME.subarray(0, 3)], 13],
    ['a message that cannot be decoded', [frameOf(Buffer.from([0x0a, 0x7f]))], 13],
    ['a compressed message', [frameOf(encodeRequest(REQUEST), 1)], 12],
    ['a message with other flags', [frameOf(encodeRequest(REQUEST), 0x80)], 13],
  ])('with %s fails', async (_what, chunks, grpcStatus) => {
    const answer = await raw.call({ chunks });

    expect(answer).toMatchObject({ status: 200, grpcStatus, body: Buffer.alloc(0) });
    expect(answer.grpcMessage).not.toBe('');
  });

  it('may have a message of 4 MiB, and no more', async () => {
    const padded = (bytes: number): Buffer => {
      const request = encodeRequest(REQUEST);
      const padding = Buffer.alloc(bytes - request.length - 6);
      const header = Buffer.from([0xfa, 0x3f, 0, 0, 0, 0]); // field 1023, of bytes
      for (let i = 0, rest = padding.length; i < 4; i++, rest = Math.floor(rest / 128)) {
        header[2 + i] = (rest % 128) + (i < 3 ? 128 : 0);
      }
      return Buffer.concat([request, header, padding]);
    };

    expect(await raw.call({ chunks: [frameOf(padded(4 * MEBIBYTE))] })).toMatchObject({ grpcStatus: 0 });
    for (const size of [4 * MEBIBYTE + 1, 16 * MEBIBYTE, 17 * MEBIBYTE]) {
      expect(await raw.call({ chunks: [frameOf(padded(size))] })).toMatchObject({ grpcStatus: 8 });
    }
    expect(await raw.call({ chunks: [FRAME] })).toMatchObject({ grpcStatus: 0 });
    expect(running.openCalls).toBe(0);
  });

  it('whose message is announced as too long ends before the message is there', async () => {
    const answer = await raw.call({ chunks: [Buffer.from([0, 255, 255, 255, 255])], ends: false });

    expect(answer).toMatchObject({ grpcStatus: 8 });
  });

  it.each(['', '20', 'm', '1e3m', '-1m', '123456789m', '1.5S', '20ms'])(
    'with the timeout "%s" is INTERNAL',
    async (timeout) => {
      expect(await raw.call({ headers: { 'grpc-timeout': timeout }, chunks: [FRAME] })).toMatchObject({
        grpcStatus: 13,
      });
    },
  );

  it.each(['1H', '99999999H', '10M', '5S', '500m', '500000u', '99999999n'])(
    'with the timeout %s is answered',
    async (timeout) => {
      expect(await raw.call({ headers: { 'grpc-timeout': timeout }, chunks: [FRAME] })).toMatchObject({
        grpcStatus: 0,
      });
    },
  );

  it.each(['0S', '0m', '1n'])('whose deadline has passed (%s) is DEADLINE_EXCEEDED', async (timeout) => {
    expect(await raw.call({ headers: { 'grpc-timeout': timeout }, chunks: [FRAME] })).toMatchObject({
      grpcStatus: 4,
    });
  });
});
