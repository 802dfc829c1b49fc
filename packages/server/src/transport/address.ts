import { isIP } from 'node:net';

/** Where a listener accepts connections. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

const MAX_PORT = 65_535;
export const ADDRESS_FORM = 'a port such as 8081, host:port such as 0.0.0.0:8081, or off';

/**
 * Reads the address of a listener. A port alone listens only on the loopback; to serve other machines, name a host.
 *
 * @param given - A number or a string; `off` and undefined mean no such listener.
 * @returns Undefined for no listener, and null for anything else.
 */
export function parseAddress(given: unknown): Address | undefined | null {
  if (given === undefined || given === 'off' || given === false) return undefined;
  const text = typeof given === 'number' ? String(given) : given;
  if (typeof text !== 'string') return null;
  if (isPort(text)) return { host: '127.0.0.1', port: Number(text) };
  const { hostname, port } = new URL(URL.canParse(`tcp://${text}`) ? `tcp://${text}` : 'tcp://');
  if (hostname === '' || `${hostname}:${port}` !== text || !isPort(port)) return null;
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

/** Writes an address as {@link parseAddress} reads it. */
export function formatAddress({ host, port }: Address): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${String(port)}`;
}

/** Whether only this machine reaches a listener. */
export function isLocal({ host }: Address): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= MAX_PORT;
}
