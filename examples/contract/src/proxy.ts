import { listen, type Listening } from '@sluice/testkit';
import { request as sendRequest, type IncomingMessage } from 'node:http';

/** A reverse proxy: forwards requests, and appends the address of each client to X-Forwarded-For. */
export async function startProxy(targetPort: number): Promise<Listening> {
  return listen((request, response) => {
    const hops = [request.headers['x-forwarded-for'] ?? [], request.socket.remoteAddress ?? []].flat();
    const onward = sendRequest(
      {
        host: '127.0.0.1',
        port: targetPort,
        method: request.method,
        path: request.url,
        headers: { ...request.headers, 'x-forwarded-for': hops.join(', ') },
      },
      (answer: IncomingMessage) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', (error) => response.destroy(error));
    request.pipe(onward);
  });
}
