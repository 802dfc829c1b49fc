import { request as sendRequest, type IncomingHttpHeaders } from 'node:http';
import { json } from 'node:stream/consumers';

export interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

type Headers = Readonly<Record<string, string>>;

/** A client that connects from an address of its own: all of 127.0.0.0/8 is this machine. */
export class Client {
  readonly address: string;
  readonly #port: number;

  constructor(port: number, address: string) {
    this.#port = port;
    this.address = address;
  }

  async get(path: string, headers: Headers = {}): Promise<Answer> {
    return this.#send('GET', path, headers);
  }

  /** The statuses of this many requests, one after the other. */
  async statuses(times: number, path: string, headers: Headers = {}): Promise<(number | undefined)[]> {
    const statuses = [];
    for (let i = 0; i < times; i++) statuses.push((await this.get(path, headers)).status);
    return statuses;
  }

  async logIn(user: string, password: string): Promise<Answer> {
    return this.#send('POST', '/login', { 'content-type': 'application/json' }, JSON.stringify({ user, password }));
  }

  /** Logs in. Resolves to the headers of later requests. */
  async authorization(user: string): Promise<Headers> {
    const { body } = await this.logIn(user, passwordOf(user));
    return { authorization: `Bearer ${(body as { token: string }).token}` };
  }

  async #send(method: string, path: string, headers: Headers, body?: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = sendRequest(
        { host: '127.0.0.1', port: this.#port, localAddress: this.address, agent: false, method, path, headers },
        (answer) => {
          json(answer).then((read) => {
            resolve({ status: answer.statusCode, headers: answer.headers, body: read });
          }, reject);
        },
      );
      request.on('error', reject);
      request.end(body);
    });
  }
}

/** A user of every example: ann on the free plan, and bob on the paid one. */
export function passwordOf(user: string): string {
  return `${user}-secret`;
}
