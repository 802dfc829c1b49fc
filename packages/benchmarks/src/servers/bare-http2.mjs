// The share of node:http2 in a call: every call gets the same answer, and nothing is decoded or decided.
import { createServer } from 'node:http2';

const OK = Buffer.from([0, 0, 0, 0, 2, 8, 1]);
const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };

const server = createServer({ settings: { enablePush: false, maxConcurrentStreams: 100 } });
server.on('stream', (stream) => {
  stream.on('error', () => undefined);
  stream.on('data', () => undefined);
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.on('end', () => {
    stream.respond(HEADERS, { waitForTrailers: true, sendDate: false });
    stream.end(OK);
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1');
