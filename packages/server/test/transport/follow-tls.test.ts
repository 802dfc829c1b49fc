import { copyFileSync, mkdtempSync, readFileSync, rmSync, unlinkSync } from 'node:fs';
import type { SecureContextOptions } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { tlsFixture, until } from '@sluice/testkit';
import { followTls, noticesOf, readTls, type CertificateFiles } from '../../src/transport/certificates.ts';

describe('following the files of a certificate', () => {
  let folder: string;
  let files: CertificateFiles;
  let stop: (() => void) | undefined;
  const given: SecureContextOptions[] = [];
  const told: string[] = [];
  const server = { setSecureContext: (options: SecureContextOptions) => void given.push(options) };
  const follow = (used = readTls(files)): void => {
    stop = followTls(files, used, [server], (line) => told.push(line));
  };
  const write = (certificate: string, privateKey: string): void => {
    copyFileSync(privateKey, files.key);
    copyFileSync(certificate, files.cert);
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-tls-'));
    files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    write(tlsFixture.certFile, tlsFixture.keyFile);
  });
  afterEach(() => {
    stop?.();
    given.length = told.length = 0;
    rmSync(folder, { recursive: true });
  });

  it('sees a change that was made before its first look, and since the files were read', async () => {
    const used = readTls(files);
    write(tlsFixture.otherCertFile, tlsFixture.otherKeyFile);
    follow(used);
    await until('the servers have it', () => given.length > 0);

    expect(given.map(({ cert }) => String(cert))).toEqual([readFileSync(tlsFixture.otherCertFile, 'utf8')]);
  });

  it('says that a file is gone, and uses what comes after', async () => {
    follow();
    unlinkSync(files.cert);
    await until('it says so', () => told.length > 0);
    copyFileSync(tlsFixture.certFile, files.cert);
    await until('the servers have it', () => given.length > 0);

    expect(told).toEqual([
      expect.stringMatching(/^the certificate stays as it was: tls\.cert must be the path of a PEM file/),
    ]);
  });
});

const DAY_MS = 86_400_000;
const cert = readFileSync(tlsFixture.expiredCertFile);
/** The certificate is valid from January to March 2024: for 91 days. */
const [FROM_MS, TO_MS] = [Date.UTC(2024, 0, 1), Date.UTC(2024, 3, 1)];

describe('a certificate', () => {
  it.each([
    ['has expired', TO_MS + 1, 'has expired on 2024-04-01: clients that check it do not connect'],
    ['is not valid yet', FROM_MS - 1, 'is valid from 2024-01-01 on: until then clients do not connect'],
    [
      'ends within two weeks',
      TO_MS - 13 * DAY_MS,
      'ends soon, on 2024-04-01: replace its file, which is read without a restart',
    ],
  ])('that %s is told of', (_what, nowMs, told) => {
    expect(noticesOf({ cert }, nowMs)).toEqual([`tls.cert: the certificate of CN=expired ${told}`]);
  });

  it('that is valid for longer is not', () => {
    expect(noticesOf({ cert }, TO_MS - 15 * DAY_MS)).toEqual([]);
    expect(noticesOf({})).toEqual([]);
  });

  it('is told of by its option, in a file with several and among authorities', () => {
    const several = Buffer.concat([readFileSync(tlsFixture.certFile), cert]);

    expect(noticesOf({ cert: several, ca: several }, TO_MS + 1)).toEqual([
      expect.stringMatching(/^tls\.cert: the certificate of CN=expired has expired/),
      expect.stringMatching(/^tls\.clientCa: the certificate of CN=expired has expired/),
    ]);
  });
});
