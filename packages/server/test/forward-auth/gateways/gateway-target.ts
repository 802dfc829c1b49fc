import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What a test changes in the configuration of an example. */
export interface Variant {
  /** Whether requests fail without an answer from the service. */
  readonly failsClosed?: boolean;
  /** Whether the gateway waits for the service as long as a busy machine may take. */
  readonly isPatient?: boolean;
}

/** Where a gateway listens, and whom it connects to: ports of the loopback. */
export interface Ports {
  readonly gateway: number;
  readonly service: number;
  readonly app: number;
}

/** A gateway as the tests start it, with the configuration of its example. */
export interface GatewayTarget {
  readonly name: 'nginx' | 'Caddy' | 'HAProxy';
  /** The name of the program, and in capitals of the variable with its path. */
  readonly program: 'nginx' | 'caddy' | 'haproxy';
  /** @param folder - Where the files will be: the working directory. */
  readonly args: (folder: string) => readonly string[];
  /** The files in that folder. */
  readonly files: (ports: Ports, variant: Variant) => Readonly<Record<string, string>>;
  /** Whether a denied client gets the body of the service, not one that the gateway writes. */
  readonly passesBody: boolean;
  /** What a client gets that fails closed. */
  readonly statusClosed: number;
}

const configurations = fileURLToPath(new URL('configurations/', import.meta.url));

/** A file of an example, with the ports of a test. */
export function configurationFile(path: string, { gateway, service, app }: Ports): string {
  const text = readFileSync(`${configurations}${path}`, 'utf8');
  return replaceEach(text, [
    ['127.0.0.1:8080', `127.0.0.1:${String(service)}`],
    ['127.0.0.1:3000', `127.0.0.1:${String(app)}`],
    ['127.0.0.1:8000', `127.0.0.1:${String(gateway)}`],
    [':8000 {', `:${String(gateway)} {`],
  ]);
}

/** Replaces every occurrence. Texts that are not there stay out. */
function replaceEach(text: string, changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((changed, [before, after]) => changed.replaceAll(before, after), text);
}

/**
 * Replaces texts.
 *
 * @throws Error for one that is not there: the example has changed.
 */
export function changed(text: string, changes: readonly (readonly [string, string])[]): string {
  for (const [before] of changes) if (!text.includes(before)) throw new Error(`the example has no ${before}`);
  return replaceEach(text, changes);
}
