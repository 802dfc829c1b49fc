import { SluiceError } from '@sluice/core';
import { invalid, isText, readBoolean, type Environment } from './variables.ts';

const SINGLE_OR_CLUSTER =
  'SINGLE or CLUSTER; for Sentinel call createServer with store: redisStore(new Redis({ sentinels, name }), { prefix })';

/**
 * The option `redis` that `REDIS_URL`, `REDIS_SOCKET_TYPE`, `REDIS_TYPE`, `REDIS_AUTH` and `REDIS_TLS` describe.
 * Undefined without `REDIS_URL`.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID`. Its message quotes neither a password nor a URL.
 */
export function redisFromEnvironment(environment: Environment): string | undefined {
  const [given, type = 'SINGLE', socket = ''] = ['REDIS_URL', 'REDIS_TYPE', 'REDIS_SOCKET_TYPE'].map((name) => {
    const text = environment[name];
    return isText(text) ? text : undefined;
  });
  // A wrong one is not taken for none: what is meant to be encrypted would be sent in the clear.
  const hasTls = readBoolean(environment, 'REDIS_TLS') === true || socket === 'tls';
  if (!/^(?:tcp|tls|unix|)$/.test(socket)) throw invalid('REDIS_SOCKET_TYPE', 'tcp, tls or unix', socket);
  if (given === undefined) return undefined;
  if (!/^(?:single|cluster)$/i.test(type)) throw invalid('REDIS_TYPE', SINGLE_OR_CLUSTER, type);
  const auth = userInfo(environment['REDIS_AUTH'] ?? '');
  const urls = given.split(',').map((one) => urlOf(one.trim(), auth, hasTls));
  if (type.toUpperCase() === 'CLUSTER' && urls.length === 1) urls.push(...urls);
  return urls.join(',');
}

/** `host:port`, a URL or the path of a Unix socket, with the password that is given beside it. */
function urlOf(text: string, auth: string, isTls: boolean): string {
  if (text.startsWith('/')) return auth === '' ? text : `unix://${auth}@${text}`;
  const hasScheme = /^[a-z]+:\/\//i.test(text);
  if (hasScheme && !URL.canParse(text)) {
    throw new SluiceError(
      'SLUICE_OPTION_INVALID',
      'REDIS_URL must be host:port, redis://host:port or the path of a socket',
    );
  }
  if (!hasScheme) return `${isTls ? 'rediss' : 'redis'}://${auth}${auth === '' ? '' : '@'}${text}`;
  const url = new URL(text);
  if (isTls && url.protocol === 'redis:') return urlOf(text.replace(/^redis:/i, 'rediss:'), auth, false);
  const hasOwn = url.username !== '' || url.password !== '';
  return auth === '' || hasOwn ? text : text.replace('://', `://${auth}@`);
}

/** `password` or `user:password`, as a URL holds it. */
function userInfo(auth: string): string {
  if (auth === '') return '';
  const colon = auth.indexOf(':');
  return colon === -1
    ? `:${encodeURIComponent(auth)}`
    : `${encodeURIComponent(auth.slice(0, colon))}:${encodeURIComponent(auth.slice(colon + 1))}`;
}
