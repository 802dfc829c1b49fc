import type { AdapterTarget, AnyRequest } from './target.ts';

/** Reads a header of what a framework gives to functions of the request: undefined when there is none. */
export type HeaderOf = (request: unknown, name: string) => string | undefined;

/** How this target reads headers. */
export function headerReader(target: AdapterTarget): HeaderOf {
  if (target.header !== undefined) return target.header.bind(target) as HeaderOf;
  return (request, name) => {
    const { headers } = request as AnyRequest;
    if (headers instanceof Headers) return headers.get(name) ?? undefined;
    const value = headers[name];
    return value === undefined || typeof value === 'string' ? value : value.join(', ');
  };
}

/** A name in which `{x-id}` is replaced by the value of that header. */
export function namedByHeaders(name: string, headerOf: (name: string) => string | undefined): string {
  return name.replaceAll(/\{([\w-]+)\}/g, (_whole, header: string) => headerOf(header) ?? '');
}
