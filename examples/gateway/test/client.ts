import { once } from 'node:events';
import { Agent, request as sendRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/** The response to one request. */
export interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Headers = Readonly<Record<string, string>>;

let clients = 0;

/** A client with an address of its own, as all of 127.0.0.0/8 is this machine, and some connections that it keeps. */
export class Client {
  readonly address: string;
  readonly #agent: Agent;
  readonly #port: number;

  constructor(port: number, connections = 8) {
    clients++;
    this.address = `127.2.${String(clients >> 7)}.${String(1 + (clients % 128))}`;
    this.#port = port;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  async send(path: string, headers: Headers = {}): Promise<Answer> {
    const request = sendRequest({
      ...{ host: '127.0.0.1', port: this.#port, localAddress: this.address, agent: this.#agent },
      ...{ path, headers },
    });
    request.end();
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
  }

  /** Sends this many requests, one at a time per connection. */
  async sendMany(times: number, path: string): Promise<Answer[]> {
    return Promise.all(Array.from({ length: times }, async () => this.send(path)));
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** The counts of one window. */
export interface WindowCount {
  readonly window: number;
  readonly offered: number;
  readonly allowed: number;
}

/** Requests by the window that their decision fell into, on the clock that the decision was made by. */
export function byWindow(answers: readonly Answer[], windowMs: number): WindowCount[] {
  const windowOf = ({ headers }: Answer): number => Math.floor(Number(headers['x-decided-at']) / windowMs);
  const windows = [...new Set(answers.map(windowOf))].sort((a, b) => a - b);
  return windows.map((window) => {
    const own = answers.filter((answer) => windowOf(answer) === window);
    return { window, offered: own.length, allowed: own.filter(({ status }) => status === 200).length };
  });
}

/** The values of a field that came, or the statuses, each once. */
export function seen(answers: readonly Answer[], what: 'status' | 'x-gateway' | 'x-counted-in'): string[] {
  const values = answers.map(({ status, headers }) => String(what === 'status' ? status : headers[what]));
  return [...new Set(values)].sort();
}
