import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { request, type RequestOptions } from 'node:https';
import { request as plainRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { tlsFixture, until } from '@sluice/testkit';
import { GrpcClient } from '../../../server/test/rls/grpc-client.ts';
import { useServe } from './serving.ts';

const serving = useServe();
const LIMITS = 'limits: { login: { fixedWindow: { limit: 2, window: 1h } } }\n';

/** The status of /healthcheck, or why there is none. */
async function health(options: RequestOptions, send: typeof plainRequest = plainRequest): Promise<unknown> {
  try {
    const sent = send({ path: '/healthcheck', agent: false, ...options }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  }
}

describe('TLS', () => {
  it('serves gRPC and HTTP with a certificate that is replaced while it runs', async () => {
    const { folder } = serving;
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    copyFileSync(tlsFixture.certFile, cert);
    copyFileSync(tlsFixture.keyFile, key);
    const one = await serving.serve(['--config', serving.file(LIMITS), '--tls-cert', cert, '--tls-key', key]);
    const { ca } = tlsFixture;
    const [host, port] = (one.addresses['http'] ?? '').split(':');

    expect(await new GrpcClient(`https://${one.addresses['grpc'] ?? ''}`, { ca }).check()).toBe('SERVING');
    expect(await health({ host, port, ca }, request)).toBe(200);
    expect(await health({ host, port })).not.toBe(200);

    const other = readFileSync(tlsFixture.otherCertFile, 'utf8');
    copyFileSync(tlsFixture.otherKeyFile, key);
    copyFileSync(tlsFixture.otherCertFile, cert);
    await until('it is used', async () => (await health({ host, port, ca: other }, request)) === 200);
    expect(await new GrpcClient(`https://${one.addresses['grpc'] ?? ''}`, { ca: other }).check()).toBe('SERVING');
  });

  it('with --tls-client-ca serves clients that have a certificate, and no others', async () => {
    const { ca, certFile, keyFile, otherCertFile, otherKeyFile } = tlsFixture;
    const tls = ['--tls-cert', certFile, '--tls-key', keyFile, '--tls-client-ca', otherCertFile];
    const { addresses } = await serving.serve(['--config', serving.file(LIMITS), ...tls]);
    const own = { ca, cert: readFileSync(otherCertFile), key: readFileSync(otherKeyFile) };
    const [host, port] = (addresses['http'] ?? '').split(':');

    expect(await new GrpcClient(`https://${addresses['grpc'] ?? ''}`, own).check()).toBe('SERVING');
    expect(await new GrpcClient(`https://${addresses['grpc'] ?? ''}`, { ca }).check()).not.toBe('SERVING');
    expect(await health({ host, port, ...own }, request)).toBe(200);
    expect(await health({ host, port, ca }, request)).not.toBe(200);
  });
});

describe('a certificate that cannot be used', () => {
  const { certFile: cert, keyFile: key, otherKeyFile } = tlsFixture;

  it.each<[string, () => readonly string[], RegExp]>([
    ['is not there', () => ['/nowhere', key], /tls\.cert must be the path of a PEM file; got \/nowhere: ENOENT/],
    ['is another file', () => [serving.file(LIMITS), key], /tls\.cert must be a certificate in PEM form; got .*limits/],
    ['has the key of another', () => [cert, otherKeyFile], /tls\.key must be the key of tls\.cert in PEM form/],
    ['has no key in its file', () => [cert, cert], /tls\.key must be the key of tls\.cert in PEM form/],
    ['has authorities that are a folder', () => [cert, key, serving.folder], /tls\.clientCa must be the path of/],
    [
      'has authorities that are another file',
      () => [cert, key, serving.file(LIMITS)],
      /tls\.clientCa must be certificates of authorities in PEM form; got .*limits/,
    ],
    ['has a key for authorities', () => [cert, key, key], /tls\.clientCa must be certificates of authorities/],
  ])('because it %s stops the start, and says which file it is', async (_what, files, message) => {
    const flags = files().flatMap((file, i) => [['--tls-cert', '--tls-key', '--tls-client-ca'][i] ?? '', file]);
    const { code, err } = await serving.run(['--config', serving.file(LIMITS, 'own.yaml'), ...flags]);

    expect([code, err]).toEqual([2, expect.stringMatching(message)]);
  });

  it('changes nothing while the service runs, authorities of clients among it', async () => {
    const { ca, otherCertFile, otherKeyFile: ownKey } = tlsFixture;
    const clientCa = serving.file(readFileSync(otherCertFile, 'utf8'), 'ca.pem');
    const tls = ['--tls-cert', cert, '--tls-key', key, '--tls-client-ca', clientCa];
    const one = await serving.serve(['--config', serving.file(LIMITS), ...tls]);
    const own = { ca, cert: readFileSync(otherCertFile), key: readFileSync(ownKey) };
    serving.file('no authorities', 'ca.pem');
    await until('it says so', () => /the certificate is unchanged: tls\.clientCa must/.test(one.printed.err));

    expect(await new GrpcClient(`https://${one.addresses['grpc'] ?? ''}`, own).check()).toBe('SERVING');
  });
});
