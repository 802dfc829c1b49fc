import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { SluiceError } from '@sluice/core';

/** How often the files are checked. */
const LOOK_MS = 2_000;

/** Files in PEM form. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  /** The authorities of client certificates. */
  readonly clientCa?: string | undefined;
}

/** The options of TLS servers. */
export interface TlsSettings extends SecureContextOptions {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
  readonly requestCert: boolean;
}

/**
 * Reads the files of a certificate.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID`, which names the option and the file, for a file that cannot be read or
 * does not contain what its option requires. Authorities are checked too: a file without any would reject every client.
 */
export function readTls({ cert, key, clientCa }: CertificateFiles): TlsSettings {
  const certificate = read('cert', 'a certificate in PEM form', cert, (bytes) => createSecureContext({ cert: bytes }));
  const identity = {
    cert: certificate,
    key: read('key', 'the key of tls.cert in PEM form, without a passphrase', key, (bytes) => {
      createSecureContext({ cert: certificate, key: bytes });
    }),
  };
  const common = { ...identity, minVersion: 'TLSv1.2', requestCert: clientCa !== undefined } as const;
  if (clientCa === undefined) return common;
  const ca = read('clientCa', 'certificates of authorities in PEM form', clientCa, (bytes) => {
    if (!bytes.includes('-----BEGIN ')) throw new Error('no PEM');
    return new X509Certificate(bytes);
  });
  return { ...common, ca };
}

/** @param use - Throws for unexpected contents. */
function read(option: keyof CertificateFiles, expected: string, path: string, use: (bytes: Buffer) => unknown): Buffer {
  let bytes: Buffer | undefined;
  try {
    bytes = readFileSync(path);
    use(bytes);
    return bytes;
  } catch (cause) {
    const what = bytes === undefined ? 'the path of a PEM file' : expected;
    const got = `${path}: ${(cause as Error).message}`;
    throw new SluiceError('SLUICE_OPTION_INVALID', `tls.${option} must be ${what}; got ${got}`, { cause });
  }
}

/** A server of `node:tls`, `node:https` or `node:http2`. */
export interface SecureServer {
  setSecureContext(options: SecureContextOptions): void;
}

/**
 * Gives servers the certificate again whenever the contents of its files change. Open connections keep theirs. Files
 * are compared with those in use from the first check on, so a change during the start counts too.
 *
 * @param used - What the servers use now.
 * @param tell - Called with the reason why files cannot be used; the servers then keep theirs.
 * @returns A function that stops checking.
 */
export function followTls(
  tls: CertificateFiles,
  used: TlsSettings,
  servers: readonly SecureServer[],
  tell: (line: string) => void,
): () => void {
  let known = [used.cert, used.key, used.ca].join();
  const look = async (): Promise<void> => {
    const found = (await Promise.all([tls.cert, tls.key, tls.clientCa].map(readContents))).join();
    if (found === known) return;
    known = found;
    try {
      const settings = readTls(tls);
      for (const server of servers) server.setSecureContext(settings);
    } catch (error) {
      tell(`the certificate is unchanged: ${(error as Error).message}`);
    }
  };
  const looking = setInterval(() => void look(), LOOK_MS).unref();
  return () => {
    clearInterval(looking);
  };
}

/** The text of a file; the code of the error if it cannot be read. */
async function readContents(file: string | undefined): Promise<string | undefined> {
  return file === undefined
    ? undefined
    : readFile(file, 'utf8').catch((error: unknown) => String((error as { code?: string }).code));
}
