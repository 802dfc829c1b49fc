import { addFields } from './add-fields.ts';
import type { Exchange } from './exchange.ts';

/** For a request whose client left while it waited: not received. */
const CLIENT_LEFT = 499;

/** Makes a response in the framework's own way. */
export type MakeResponse = (body: string | null, status: number, fields: Readonly<Record<string, string>>) => Response;

/**
 * The response of a denied request: the one of `onDenied`, or problem details.
 *
 * @param isOutermost - Otherwise the limiter around this one adds the fields of both.
 */
export function denialOf(exchange: Exchange, make: MakeResponse, isOutermost: boolean): Response {
  const { response, body, statusCode, fields } = exchange;
  if (response !== undefined) return isOutermost ? addFields(response, fields) : response;
  if (statusCode < 400) return make(null, CLIENT_LEFT, {});
  const written = isOutermost ? fields : fields.filter(([name]) => name === 'Content-Type');
  const sent = body === undefined || exchange.incoming.method === 'HEAD' ? null : body;
  return make(sent, statusCode, Object.fromEntries(written));
}
