import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { Control } from '../adapter-target/control.ts';
import type { ControlAnswer, ControlMessage } from '../adapter-target/descriptions.ts';
import type { AdapterTarget, Impossible } from '../adapter-target/target.ts';

/** What the driver plays its scenarios against. */
export interface ContractTarget {
  /** Such as `Express 5`, or `Hono on Bun`. */
  readonly name: string;
  /** Whether it can start applications that speak HTTP/2, without TLS. */
  readonly http2?: boolean;
  readonly impossible?: Impossible;
  open(): Promise<ControlLine>;
}

/** The way to the control of a target. */
export interface ControlLine {
  ask(message: ControlMessage): Promise<ControlAnswer>;
  close(): Promise<void>;
}

/** A target in this process. Messages go through JSON, as they do to a process of its own. */
export function inProcess(target: AdapterTarget): ContractTarget {
  return {
    name: target.name,
    http2: target.startHttp2 !== undefined,
    ...(target.impossible !== undefined && { impossible: target.impossible }),
    open: async () => {
      const control = new Control(target);
      return Promise.resolve({
        ask: async (message) => {
          const answer = await control.answer(JSON.parse(JSON.stringify(message)) as ControlMessage);
          return JSON.parse(JSON.stringify(answer)) as ControlAnswer;
        },
        close: async () => control.close(),
      });
    },
  };
}

/** A target that is a program: the first line that it prints is the URL of its control. */
export interface ProcessTarget {
  readonly name: string;
  /** The program and its arguments, such as `['bun', 'target.ts']`. */
  readonly command: readonly [string, ...string[]];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly http2?: boolean;
  readonly impossible?: Impossible;
}

export function processTarget({ command: [program, ...args], cwd, env, ...facts }: ProcessTarget): ContractTarget {
  return {
    ...facts,
    async open() {
      const child = spawn(program, args, {
        ...(cwd !== undefined && { cwd }),
        env: { ...process.env, ...env },
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      const exited = new Promise<never>((_resolve, reject) => {
        child.once('error', reject);
        child.once('exit', (code, signal) => {
          reject(new Error(`${facts.name} ended: ${String(code ?? signal)}`));
        });
      });
      exited.catch(() => undefined);
      const [url] = (await Promise.race([once(createInterface(child.stdout), 'line'), exited])) as [string];
      const agent = new Agent({ keepAlive: true });
      return {
        ask: async (message) => Promise.race([post(url, agent, message), exited]),
        async close() {
          agent.destroy();
          const gone = once(child, 'exit');
          child.stdin.end();
          if (child.exitCode === null && child.signalCode === null) await gone;
        },
      };
    },
  };
}

async function post(url: string, agent: Agent, message: ControlMessage): Promise<ControlAnswer> {
  const sent = request(url, { method: 'POST', agent, headers: { 'content-type': 'application/json' } });
  sent.end(JSON.stringify(message));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return (await json(answer)) as ControlAnswer;
}
