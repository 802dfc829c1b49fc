import { describe, expect, it } from '@jest/globals';
import type { Request } from 'express';
import { mountPath } from '../src/mount-path.ts';

/** A layer of the routers 2.0 to 2.2, which Express 5.0 and 5.1 may come with: they keep no pattern. */
function oldLayer(regexp: RegExp, stack: readonly object[]): object {
  const names = [...regexp.source.matchAll(/\(\?<(\w+)>/g)].map(([, name = '']) => name);
  return {
    name: 'router',
    handle: Object.assign(() => {}, { stack }),
    match(this: { path?: string; params?: object }, path: string) {
      const match = regexp.exec(path);
      if (match === null) return false;
      this.path = match[0];
      this.params = Object.fromEntries(names.map((name) => [name, match.groups?.[name]]));
      return true;
    },
  };
}

function requestOf(layers: readonly object[], route: object, baseUrl: string): Request {
  const app = { enabled: () => false, router: { stack: layers } };
  return { app, baseUrl, path: '/list', route } as unknown as Request;
}

describe('the mount path, where a router keeps no patterns', () => {
  const route = { path: '/list' };
  const inner = [{ name: 'handle', route, handle: () => {}, match: () => true }];

  it('is what was taken, in lower case, without parameters', () => {
    const layers = [oldLayer(/^\/other/i, []), oldLayer(/^\/api(?=\/|$)/i, inner)];

    expect(mountPath(requestOf(layers, route, '/API'))).toBe('/api');
  });

  it('names its parameters in the place of their values', () => {
    const layers = [oldLayer(/^\/tenants\/(?<tenant>[^/]+)\/(?<shop>[^/]+)/i, inner)];

    const paths = ['/tenants/1/2', '/tenants/3/4', '/Tenants/tenants/5'].map((path) =>
      mountPath(requestOf(layers, route, path)),
    );

    expect(paths).toEqual(new Array(3).fill('/tenants/:tenant/:shop'));
  });

  it('is unknown where no router leads to the route', () => {
    const layers = [oldLayer(/^\/api/, [])];

    expect(mountPath(requestOf(layers, route, '/api'))).toBeUndefined();
  });
});
