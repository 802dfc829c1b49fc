import type { Framework, RateLimitInfo } from './framework.ts';
import { LATEST, type Locals } from './plan.ts';

interface App {
  readonly parent?: App;
  /** The prototype of its requests. */
  readonly request: object;
}

/** A request of Express; other requests have no `res`. */
interface ExpressRequest {
  readonly res?: { readonly locals?: Locals };
  readonly app: App;
}

/** The prototype of Express requests that has the accessor: all requests share it if there is only one application. */
let known: object | undefined;

/**
 * Keeps data about an Express request in `response.locals`. Adding a property to a request after Express has replaced
 * its prototype costs 4 to 6 µs on Node.js 20 and 22, because no two requests then share a layout: even reading a
 * property takes up to 1 µs. `request.rateLimit` is an accessor. Data about any other request is kept on the request
 * itself.
 */
export const inLocals: Required<Pick<Framework<object, unknown>, 'locals' | 'record'>> = {
  locals(request) {
    const { res } = request as ExpressRequest;
    const prototype = Object.getPrototypeOf(request) as object;
    if (prototype !== known && res !== undefined) {
      if (!('rateLimit' in request)) addAccessor((request as ExpressRequest).app);
      known = prototype;
    }
    return res?.locals ?? request;
  },
  record(request, info) {
    if ((request as ExpressRequest).res === undefined) (request as { rateLimit?: RateLimitInfo }).rateLimit = info;
  },
};

/** Adds `request.rateLimit` to the requests of an application and of those mounted in it. */
function addAccessor(app: App): void {
  let root = app;
  while (root.parent !== undefined) root = root.parent;
  Object.defineProperty(root.request, 'rateLimit', {
    get(this: ExpressRequest) {
      let call = this.res?.locals?.[LATEST];
      while (call !== undefined && call.info === undefined) call = call.before;
      return call?.info;
    },
    // Other packages write their numbers there too.
    set(this: ExpressRequest, value: unknown) {
      Object.defineProperty(this, 'rateLimit', { value, writable: true, enumerable: true, configurable: true });
    },
    configurable: true,
  });
}
