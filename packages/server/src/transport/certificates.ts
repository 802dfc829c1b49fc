import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { SluiceError } from '@sluice/core';

/** How often the files are looked at. */
const LOOK_MS = 2_000;

/** Files in PEM form. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  /** The authorities of client certificates. */
  readonly clientCa?: string | undefined;
}

/** The options of TLS servers. */
export type TlsSettings = SecureContextOptions & { readonly requestCert: boolean };

/**
 * Reads the files of a certificate.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID`, which names the option and the file, for what cannot be read or is not
 * what its option says. Authorities are checked too: a file without any would reject every client.
 */
export function readTls({ cert, key, clientCa }: CertificateFiles): TlsSettings {
  const identity = { cert: read('tls.cert', cert), key: read('tls.key', key) };
  usable('tls.cert', 'a certificate in PEM form', cert, () => createSecureContext({ cert: identity.cert }));
  usable('tls.key', 'the key of tls.cert in PEM form, without a passphrase', key, () => createSecureContext(identity));
  return {
    ...identity,
    ...(clientCa === undefined ? {} : { ca: readAuthorities(clientCa) }),
    minVersion: 'TLSv1.2',
    requestCert: clientCa !== undefined,
  };
}

const DAY_MS = 86_400_000;
/** A certificate ends soon within so many days, or in the last fifth of its time: it would have been renewed before. */
const SOON_MS: number = 14 * DAY_MS;
const SOON_SHARE = 0.2;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** What to tell of certificates that are not valid, or end soon, each with its option and its day. Empty: nothing. */
export function noticesOf(
  { cert, ca }: Pick<TlsSettings, 'cert' | 'ca'>,
  nowMs: number = Date.now(),
): readonly string[] {
  return [...noticesIn('tls.cert', cert, nowMs), ...noticesIn('tls.clientCa', ca, nowMs)];
}

function noticesIn(option: string, pem: unknown, nowMs: number): readonly string[] {
  const written = Buffer.isBuffer(pem) ? (pem.toString('latin1').match(PEM) ?? []) : [];
  return written.flatMap((one) => {
    const { subject, validFrom, validTo } = new X509Certificate(one);
    const [fromMs, toMs] = [Date.parse(validFrom), Date.parse(validTo)];
    const who = `${option}: the certificate of ${subject.replaceAll('\n', ', ')}`;
    const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
    if (nowMs > toMs) return [`${who} has expired on ${day(toMs)}: clients that check it do not connect`];
    if (nowMs < fromMs) return [`${who} is valid from ${day(fromMs)} on: until then clients do not connect`];
    if (toMs - nowMs > Math.min(SOON_MS, (toMs - fromMs) * SOON_SHARE)) return [];
    return [`${who} ends soon, on ${day(toMs)}: replace its file, which is read without a restart`];
  });
}

function readAuthorities(path: string): Buffer {
  const bytes = read('tls.clientCa', path);
  usable('tls.clientCa', 'certificates of authorities in PEM form', path, () => {
    if (!bytes.includes('-----BEGIN ')) throw new Error('no PEM');
    return new X509Certificate(bytes);
  });
  return bytes;
}

function read(option: string, path: string): Buffer {
  return usable(option, 'the path of a PEM file', path, () => readFileSync(path));
}

function usable<T>(option: string, expected: string, path: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    const why = (error as Error).message;
    throw new SluiceError('SLUICE_OPTION_INVALID', `${option} must be ${expected}; got ${path}: ${why}`, {
      cause: error,
    });
  }
}

/** A server of `node:tls`, `node:https` or `node:http2`. */
export interface SecureServer {
  setSecureContext(options: SecureContextOptions): void;
}

/**
 * Gives servers the certificate again whenever one of its files says something else. Connections that are open keep
 * theirs.
 *
 * @param current - What the servers have.
 * @param tell - Gets why files cannot be used, in which case the servers keep what they have, and what is wrong with
 *   certificates that are used.
 * @returns A function that stops looking.
 */
export function followTls(
  tls: CertificateFiles,
  current: TlsSettings,
  servers: readonly SecureServer[],
  tell: (line: string) => void,
): () => void {
  const files = [tls.cert, tls.key, tls.clientCa].filter((file) => file !== undefined);
  let seen = joined([current.cert, current.key, current.ca].filter((bytes) => bytes !== undefined) as Buffer[]);
  const look = (): void => {
    const found = contentsOf(files);
    if (found === seen) return;
    seen = found;
    try {
      const settings = readTls(tls);
      for (const server of servers) server.setSecureContext(settings);
      for (const notice of noticesOf(settings)) tell(notice);
    } catch (error) {
      tell(`the certificate stays as it was: ${(error as Error).message}`);
    }
  };
  const timer = setInterval(look, LOOK_MS).unref();
  return () => {
    clearInterval(timer);
  };
}

/** What files say, or why they cannot be read. */
function contentsOf(files: readonly string[]): string {
  try {
    return joined(files.map((file) => readFileSync(file)));
  } catch (error) {
    return (error as Error).message;
  }
}

function joined(contents: readonly Buffer[]): string {
  return contents.map((bytes) => bytes.toString('base64')).join();
}
