import { Server, ServerCredentials } from '@grpc/grpc-js';

/** A RateLimitResponse that allows. */
const ANSWER = Buffer.from([0x08, 0x01]);
const asIs = (bytes) => bytes;

/** grpc-js, which answers every call alike: what a call costs without a decision. */
export async function serve() {
  const server = new Server();
  const method = {
    path: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
    ...{ requestStream: false, responseStream: false },
    ...{ requestSerialize: asIs, requestDeserialize: asIs, responseSerialize: asIs, responseDeserialize: asIs },
  };
  server.addService({ ShouldRateLimit: method }, { ShouldRateLimit: (_call, respond) => respond(null, ANSWER) });
  const port = await new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { port, close: () => server.forceShutdown() };
}
