import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { StoreError } from '@sluice/old-core';
import { Link, type Welcome } from './link.ts';
import type { RemoteSettings } from './options.ts';
import type { ServerAddress } from './server-url.ts';
import { failureFromJson, strangeAnswer } from './wire/failure.ts';
import { FRAME, FrameReader, PROTOCOL, readText, writeFrame } from './wire/frames.ts';

/** As short as a server on another continent allows because an attempt that hangs delays the next one. */
const CONNECT_TIMEOUT_MS = 2_000;
/** A welcome, or the reason for none. */
const MOST_HELLO_BYTES = 8_192;

/** Receives what happens to a link. */
export interface LinkEvents {
  /** The server asks for the connection to be closed soon. */
  readonly onLeaving: (link: Link) => void;
  /** Called once, when the connection has ended. */
  readonly onEnd: (link: Link, error: Error) => void;
}

/** An attempt to connect, which can be given up. */
export interface Attempt {
  /** Rejects with the reason. */
  readonly link: Promise<Link>;
  end(): void;
}

/** Connects to a server and waits for its welcome. Keeps no process alive. */
export function connect(
  address: ServerAddress,
  { token, tls }: Pick<RemoteSettings, 'token' | 'tls'>,
  events: LinkEvents,
): Attempt {
  const socket = openSocket(address, tls).unref();
  const link = new Promise<Link>((resolve, reject) => {
    const timer = setTimeout(() => {
      socket.destroy(new Error(`no welcome in ${String(CONNECT_TIMEOUT_MS)} ms`));
    }, CONNECT_TIMEOUT_MS).unref();
    const reader = new FrameReader(MOST_HELLO_BYTES, (type, _id, text) => {
      const welcome = welcomeOf(type, text);
      clearTimeout(timer);
      socket.removeAllListeners('data').removeAllListeners('error').removeAllListeners('close');
      const made: Link = new Link(socket, address.written, welcome, {
        onLeaving: () => {
          events.onLeaving(made);
        },
        onEnd: (error) => {
          events.onEnd(made, error);
        },
      });
      resolve(made);
    });
    socket.once('connect', () => {
      socket.write(writeFrame(FRAME.hello, 0, JSON.stringify({ protocol: PROTOCOL, token })));
    });
    socket.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    let trouble: Error | undefined;
    socket.on('error', (error) => (trouble = error));
    socket.on('close', () => {
      clearTimeout(timer);
      reject(trouble ?? new Error('the server closed the connection before its welcome'));
    });
  });
  return { link, end: () => socket.destroy() };
}

function openSocket(address: ServerAddress, tls: RemoteSettings['tls']): Socket {
  if ('path' in address) return connectTcp({ path: address.path });
  const { host, port, isTls } = address;
  const options = { host, port, noDelay: true, keepAlive: true };
  if (!isTls) return connectTcp(options);
  // An address is no name that a certificate could be chosen by.
  const servername = /[:]|^[\d.]+$/.test(host) ? {} : { servername: host };
  return connectTls({ ...servername, ...tls, ...options });
}

/** @throws StoreError for anything else, with the reason that the server gives. */
function welcomeOf(type: number, text: Buffer): Welcome {
  const given = readText(text);
  if (type === FRAME.rejected) throw failureFromJson(given) ?? strangeAnswer('a reason', given);
  const { protocol, hasNodes, hasBatches } = (given ?? {}) as Readonly<Record<string, unknown>>;
  const isWelcome = type === FRAME.welcome && typeof hasNodes === 'boolean' && typeof hasBatches === 'boolean';
  if (!isWelcome || protocol !== PROTOCOL) {
    throw new StoreError(
      'SLUICE_STORE_REPLY_INVALID',
      'what listens there is not the native listener of a Sluice service',
    );
  }
  return { hasNodes, hasBatches };
}
