import { PolicyError } from '@sluice/old-core';
import { shown } from '@sluice/old-core/spi';

/** Where a server listens: at a port, or at a path. */
export type ServerAddress =
  | { readonly host: string; readonly port: number; readonly isTls: boolean; readonly written: string }
  | { readonly path: string; readonly isTls: false; readonly written: string };

const DEFAULT_PORT = 8082;
const FORM = 'sluice://host:8082 (sluices: for TLS), sluice://one:8082,other:8082, or sluice+unix:/run/sluice.sock';

/**
 * Reads the URL of a server, or of several that share one store: `sluice://one:8082,other:8082`, or a list of URLs.
 *
 * @throws PolicyError for anything else. No error shows what may be a token.
 */
export function parseServerUrls(given: unknown): readonly ServerAddress[] {
  const urls: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (urls.length === 0) throw invalid('at least one URL', given);
  return urls.flatMap(addressesOf);
}

function addressesOf(url: unknown): readonly ServerAddress[] {
  if (typeof url !== 'string') throw invalid(`a URL such as ${FORM}`, url);
  const path = /^sluice\+unix:(?:\/\/)?(\/.+)$/i.exec(url)?.[1];
  if (path !== undefined) return [{ path, isTls: false, written: path }];
  const [, scheme, hosts] = /^(sluices?):\/\/([^/?#]+)\/?$/i.exec(url) ?? [];
  if (scheme === undefined || hosts === undefined) throw invalid(`a URL such as ${FORM}`, url);
  if (hosts.includes('@')) throw invalid('a URL without a token, which is an option: remoteStore(url, { token })', url);
  return hosts.split(',').map((host) => addressOf(host.trim(), scheme.toLowerCase() === 'sluices', url));
}

function addressOf(given: string, isTls: boolean, url: string): ServerAddress {
  const text = `http://${given}`;
  const { hostname = '', port = '' } = URL.canParse(text) ? new URL(text) : {};
  // URL leaves out the port 80, which is that of its scheme.
  const at = /:(\d+)$/.exec(given)?.[1] ?? port;
  if (hostname === '' || Number(at) > 65_535) throw invalid(`a URL such as ${FORM}`, url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const number = at === '' ? DEFAULT_PORT : Number(at);
  return { host, port: number, isTls, written: `${hostname}:${String(number)}` };
}

function invalid(expected: string, got: unknown): PolicyError {
  const text = typeof got === 'string' ? got.replace(/\/\/.*@/s, '//...@') : got;
  return new PolicyError('url', `remoteStore takes ${expected}, got ${shown(text)}`, 'SLUICE_OPTION_INVALID');
}
