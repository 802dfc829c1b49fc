/**
 * What an adapter knows how to read from its framework's request. The same questions everywhere, so that all else is
 * written once.
 */
export interface RequestReader<Request> {
  /**
   * The client's address as the framework resolved it, under the application's own trust in proxies. Undefined once the
   * socket is gone.
   */
  address(request: Request): string | undefined;
  method(request: Request): string;
  /** The template of the matched route, mount path included, such as `/users/:id`. Undefined when no route matched. */
  route(request: Request): string | undefined;
  /** A header field's value, as the framework reads it to the application too. Names are lower case. */
  header(request: Request, name: string): string | undefined;
  /** The id of the user, from where the framework's usual authentication puts it. */
  user(request: Request): string | number | null | undefined;
}
