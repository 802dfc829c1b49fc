import type { RequestListener } from 'node:http';
import { posix } from 'node:path';
import { frameworks } from '../../../../express/test/frameworks.ts';

/** An application with routes, and how often each was executed. */
export interface RoutedApp {
  readonly app: RequestListener;
  readonly executions: ReadonlyMap<string, number>;
}

/** What an application may do with a request before it looks for a route. */
export interface Routing {
  /** Follows `X-HTTP-Method-Override` and its kin. */
  readonly overridesMethod?: boolean;
  /** Follows `X-Original-URL` and `X-Rewrite-URL`. */
  readonly overridesPath?: boolean;
  /**
   * Decodes paths, drops parameters of segments, takes backslashes for slashes, and resolves dots, before it looks for
   * a route.
   */
  readonly normalizesPath?: boolean;
}

const [{ express }] = frameworks as [(typeof frameworks)[number]];

const METHOD_FIELDS = ['x-http-method-override', 'x-http-method', 'x-method-override'];
const PATH_FIELDS = ['x-original-url', 'x-original-uri', 'x-rewrite-url', 'x-forwarded-uri'];

/**
 * Express with these routes: it does not distinguish capitals, nor paths with a slash at the end.
 *
 * @param routes - Such as `POST /login`.
 */
export function routedApp(
  routes: readonly string[],
  { overridesMethod, overridesPath, normalizesPath }: Routing = {},
): RoutedApp {
  const executions = new Map(routes.map((route) => [route, 0]));
  const app = express();
  app.disable('x-powered-by');
  app.use((request, _response, next) => {
    const first = (names: readonly string[]): string | undefined =>
      names.map((name) => request.get(name)).find((value) => value !== undefined && value !== '');
    if (overridesMethod === true) request.method = first(METHOD_FIELDS) ?? request.method;
    if (overridesPath === true) request.url = first(PATH_FIELDS) ?? request.url;
    if (normalizesPath === true) request.url = normalized(request.url);
    next();
  });
  for (const route of routes) {
    const [method, path] = route.split(' ') as [string, string];
    app[method.toLowerCase() as 'get'](path, (_request, response) => {
      executions.set(route, (executions.get(route) ?? 0) + 1);
      response.send('done');
    });
  }
  return { app, executions };
}

function normalized(url: string): string {
  const path = url.replace(/^https?:\/\/[^/]*/i, '').split('?')[0] as string;
  const isWritten = /%(?![0-9a-f]{2})/i.test(path);
  const decoded = isWritten ? path : decodedBytes(path);
  return encodeURI(posix.normalize(decoded.replaceAll(/;[^/]*/g, '').replaceAll('\\', '/')));
}

/** Decodes what is no UTF-8 too. */
function decodedBytes(path: string): string {
  const bytes = path.replaceAll(/%([0-9a-f]{2})/gi, (_escape, digits: string) =>
    String.fromCharCode(parseInt(digits, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
