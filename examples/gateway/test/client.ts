import { once } from 'node:events';
import { Agent, request as sendRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

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

  async send(path: string, headers: Headers = {}, method = 'GET', body?: string): Promise<Answer> {
    const request = sendRequest({
      ...{ host: '127.0.0.1', port: this.#port, localAddress: this.address, agent: this.#agent },
      ...{ method, path, headers },
    });
    request.end(body);
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
  }

  /** Sends this many requests, one at a time per connection. */
  async sendMany(times: number, path: string, headers: (index: number) => Headers = () => ({})): Promise<Answer[]> {
    return Promise.all(Array.from({ length: times }, async (_, index) => this.send(path, headers(index))));
  }

  /**
   * Sends on all connections, each the next request after the last response, until `isDone`.
   *
   * @param pauseMs - Between the two, to leave CPU time for other processes.
   */
  async sendUntil(path: string, isDone: (answers: readonly Answer[]) => boolean, pauseMs = 0): Promise<Answer[]> {
    const answers: Answer[] = [];
    const one = async (): Promise<void> => {
      while (!isDone(answers)) {
        answers.push(await this.send(path));
        await sleep(pauseMs);
      }
    };
    await Promise.all(Array.from({ length: this.#agent.maxSockets }, one));
    return answers;
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
  const windows = new Map<number, { offered: number; allowed: number }>();
  for (const { status, headers } of answers) {
    const window = Math.floor(Number(headers['x-decided-at']) / windowMs);
    const count = windows.get(window) ?? { offered: 0, allowed: 0 };
    windows.set(window, count);
    count.offered++;
    if (status === 200) count.allowed++;
  }
  return [...windows].map(([window, count]) => ({ window, ...count })).sort((a, b) => a.window - b.window);
}

/** How often each status came. */
export function statuses(answers: readonly Answer[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status } of answers) counts[String(status)] = (counts[String(status)] ?? 0) + 1;
  return counts;
}

/** The responding gateways, such as `gateway-1`. */
export function gateways(answers: readonly Answer[]): string[] {
  return [...new Set(answers.map(({ headers }) => String(headers['x-gateway'])))].sort();
}
