import { copyFileSync, mkdtempSync, readFileSync, rmSync, unlinkSync } from 'node:fs';
import type { SecureContextOptions } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { tlsFixture, until } from '@sluice/testkit';
import { followTls, readTls, type CertificateFiles } from '../../src/transport/certificates.ts';

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
