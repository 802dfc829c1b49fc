import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { tlsFixture } from '@sluice/testkit';
import { noticesOf } from '../../src/transport/certificates.ts';

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
