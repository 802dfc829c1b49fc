/** The fields of a gateway about the original request, as written. */
export interface OriginalFields {
  forwardedFor: string | undefined;
  realIp: string | undefined;
  target: string | undefined;
  method: string | undefined;
  /** Two fields, or two lines of one, that state different targets or methods. */
  contradicts: boolean;
}

const SMALL_X = 120;
/** The scheme and authority of a target in absolute form. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * Reads the fields about the original request: `X-Forwarded-For`, `X-Real-IP`, `X-Forwarded-Uri`, `X-Original-URI` or
 * `X-Original-URL`, `X-Forwarded-Method` or `X-Original-Method`. A gateway writes those of one family and passes on
 * what a client sends in the other, so that all that are present must state the same.
 *
 * @param rawHeaders - Names and values, alternating, as received.
 */
export function originalFields(rawHeaders: readonly string[]): OriginalFields {
  const fields: OriginalFields = {
    forwardedFor: undefined,
    realIp: undefined,
    target: undefined,
    method: undefined,
    contradicts: false,
  };
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if ((name.charCodeAt(0) | 32) !== SMALL_X) continue;
    read(fields, name.toLowerCase(), rawHeaders[i + 1] as string);
  }
  return fields;
}

function read(fields: OriginalFields, name: string, value: string): void {
  switch (name) {
    case 'x-forwarded-for':
      fields.forwardedFor = fields.forwardedFor === undefined ? value : `${fields.forwardedFor},${value}`;
      break;
    case 'x-real-ip':
      fields.realIp = fields.realIp === undefined ? value : `${fields.realIp},${value}`;
      break;
    case 'x-forwarded-uri':
    case 'x-original-uri':
    case 'x-original-url':
      stateTarget(fields, value);
      break;
    case 'x-forwarded-method':
    case 'x-original-method':
      stateMethod(fields, value);
      break;
  }
}

/** Adds a statement about the target. An empty one states nothing. */
export function stateTarget(fields: OriginalFields, value: string): void {
  if (value === '') return;
  const target = pathAndQuery(value);
  if (fields.target !== undefined && fields.target !== target) fields.contradicts = true;
  fields.target = target;
}

/** Adds a statement about the method. An empty one states nothing. */
export function stateMethod(fields: OriginalFields, value: string): void {
  if (value === '') return;
  if (fields.method !== undefined && fields.method !== value) fields.contradicts = true;
  fields.method = value;
}

/** The target as a path and a query: that of `*`, which names no path, is below `/`. */
function pathAndQuery(target: string): string {
  if (target.startsWith('/')) return target;
  const below = target.replace(ORIGIN, '');
  return below.startsWith('/') ? below : `/${below}`;
}
