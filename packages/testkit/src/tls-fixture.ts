import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = (name: string): string => fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));

/** A server certificate for 127.0.0.1 and localhost, its key, and its authority; valid for a hundred years. */
export const tlsFixture: {
  /** The certificate of the authority that signed it, for a client's `tls: { ca }`. */
  readonly ca: string;
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** Another certificate, which is self-signed, and its key. */
  readonly otherCertFile: string;
  readonly otherKeyFile: string;
} = {
  ca: readFileSync(file('ca'), 'utf8'),
  caFile: file('ca'),
  certFile: file('server'),
  keyFile: file('server-key'),
  otherCertFile: file('other'),
  otherKeyFile: file('other-key'),
};
