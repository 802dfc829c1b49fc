import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { SluiceError } from '@sluice/old-core';

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
export interface TlsSettings extends SecureContextOptions {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
  readonly requestCert: boolean;
}

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
  { cert, ca }: Partial<Pick<TlsSettings, 'cert' | 'ca'>>,
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
 * Gives servers the certificate again whenever the contents of its files change. Connections that are open keep theirs.
 * Files are compared with those in use from the first look on, so a change during the start counts too.
 *
 * @param used - What the servers have now.
 * @param tell - Gets why files cannot be used, in which case the servers keep what they have, and what is wrong with
 *   certificates that are used.
 * @returns A function that stops looking.
 */
export function followTls(
  tls: CertificateFiles,
  used: TlsSettings,
  servers: readonly SecureServer[],
  tell: (line: string) => void,
): () => void {
  let known = digest([used.cert, used.key, used.ca]);
  const look = async (): Promise<void> => {
    const found = digest(await Promise.all([tls.cert, tls.key, tls.clientCa].map(contents)));
    if (found === known) return;
    known = found;
    try {
      const settings = readTls(tls);
      for (const server of servers) server.setSecureContext(settings);
      for (const notice of noticesOf(settings)) tell(notice);
    } catch (error) {
      tell(`the certificate stays as it was: ${(error as Error).message}`);
    }
  };
  const looking = setInterval(() => void look(), LOOK_MS).unref();
  return () => {
    clearInterval(looking);
  };
}

/** The bytes of a file; the code of the error where it cannot be read. */
async function contents(file: string | undefined): Promise<Buffer | string | undefined> {
  return file === undefined
    ? undefined
    : readFile(file).catch((error: unknown) => String((error as { code?: string }).code));
}

function digest(parts: readonly (Buffer | string | undefined)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${String(part?.length)}:`).update(part ?? '');
  return hash.digest('base64');
}
