import { request, type IncomingHttpHeaders } from 'node:http';

/** What a client has received. */
export interface Received {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A request on a connection of its own. */
export function get(port: number, path: string, headers: Record<string, string>): Promise<Received> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (body += chunk));
      response.on('end', () => {
        resolve({ status: response.statusCode, headers: response.headers, body });
      });
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}
