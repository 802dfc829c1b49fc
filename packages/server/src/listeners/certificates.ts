import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { SecureContextOptions } from 'node:tls';
import type { TlsOptions } from '../options.ts';

/** How often the files are looked at. */
const LOOK_MS = 2_000;

/** What servers of TLS are made with. */
export type TlsSettings = SecureContextOptions & { readonly requestCert: boolean };

/**
 * Reads the files of a certificate.
 *
 * @throws the errors of the file system, which name the file.
 */
export function readTls({ cert, key, clientCa }: TlsOptions): TlsSettings {
  return {
    cert: readFileSync(cert),
    key: readFileSync(key),
    ...(clientCa === undefined ? {} : { ca: readFileSync(clientCa) }),
    minVersion: 'TLSv1.2',
    requestCert: clientCa !== undefined,
  };
}

/** A server of `node:tls`, `node:https` or `node:http2`. */
export interface SecureServer {
  setSecureContext(options: SecureContextOptions): void;
}

/**
 * Gives servers the certificate again whenever one of its files changes. Connections that are open keep theirs.
 *
 * @param failed - Gets why files cannot be used; the servers keep what they have.
 * @returns A function that stops looking.
 */
export function followTls(
  tls: TlsOptions,
  servers: readonly SecureServer[],
  failed: (error: Error) => void,
): () => void {
  const files = [tls.cert, tls.key, tls.clientCa].filter((file) => file !== undefined);
  const changed = (): void => {
    try {
      const settings = readTls(tls);
      for (const server of servers) server.setSecureContext(settings);
    } catch (error) {
      failed(error as Error);
    }
  };
  for (const file of files) watchFile(file, { persistent: false, interval: LOOK_MS }, changed);
  return () => {
    for (const file of files) unwatchFile(file, changed);
  };
}
