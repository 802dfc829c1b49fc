import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fixtures(dirname(fileURLToPath(import.meta.url)));

/** A server certificate for 127.0.0.1 and localhost, its key, and who signed it; valid for a hundred years. */
export const tlsFixture: {
  /** The certificate of who signed it, for a client's `tls: { ca }`. */
  readonly ca: string;
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** Another certificate, which it has signed itself, and its key. */
  readonly otherCertFile: string;
  readonly otherKeyFile: string;
} = {
  get ca() {
    return readFileSync(this.caFile, 'utf8');
  },
  caFile: join(folder, 'ca.pem'),
  certFile: join(folder, 'server.pem'),
  keyFile: join(folder, 'server-key.pem'),
  otherCertFile: join(folder, 'other.pem'),
  otherKeyFile: join(folder, 'other-key.pem'),
};

/** This file is run from `src` and, compiled, from below `dist`. */
function fixtures(from: string): string {
  const found = join(from, 'fixtures/tls');
  return existsSync(found) || dirname(from) === from ? found : fixtures(dirname(from));
}
