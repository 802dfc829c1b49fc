import { PassThrough } from 'node:stream';
import type { AnswerDescription, HandlerDescription } from './descriptions.ts';
import { headerReader, namedByHeaders } from './header-of.ts';
import { shown, type NameContext } from './names.ts';
import type { Answer, Call } from './target.ts';

/**
 * A described handler. Each call is an entry in the list `calls`: the method, the key and the decision, when it began by the clock of
 * the target, and how many handlers of the application ran then, itself included.
 */
export function describedHandler(described: HandlerDescription, context: NameContext, running: Set<object>) {
  const { scene, app, target } = context;
  return async (call: Call): Promise<Answer> => {
    const startedAtMs = performance.now();
    const headerOf = (name: string): string | undefined => headerReader(target)(call, name);
    const nameOf = (name: string): string => namedByHeaders(name, headerOf);
    const { cases = [], quiet = false, ...usual } = described;
    const fitting = cases.find(({ header, is }) => headerOf(header) === is);
    const { record, hold, never, throws, ...answer }: AnswerDescription = { ...usual, ...fitting };
    running.add(call);
    if (!quiet) {
      const { method, rateLimit } = call;
      const info = rateLimit && { key: rateLimit.key as unknown, decision: shown(rateLimit.decision) };
      const entry = { method, sent: headerOf('x-sent'), rateLimit: info, startedAtMs, running: running.size };
      scene.records.add(`${app}/calls`, entry);
    }
    if (record !== undefined) scene.records.add(`${app}/${nameOf(record)}`, {});
    if (never === true) return new Promise(() => undefined);
    if (hold !== undefined) {
      await scene.gate(nameOf(hold)).opened;
      await new Promise(setImmediate); // so that handlers that may not run together would be seen together
    }
    running.delete(call);
    if (throws !== undefined) throw new Error(throws);
    return answerOf(answer, headerOf, context);
  };
}

function answerOf(
  { status = 200, headers = {}, body = '', times = 1, stream }: AnswerDescription,
  headerOf: (name: string) => string | undefined,
  { scene }: NameContext,
): Answer {
  const code = typeof status === 'number' ? status : Number(headerOf(status.header) ?? status.default);
  if (stream === undefined) return { status: code, headers, body: body.repeat(times) };
  const sent = new PassThrough();
  sent.write(stream.first);
  if (stream.gate !== undefined) void scene.gate(stream.gate).opened.then(() => sent.end(stream.last));
  return { status: code, headers, stream: sent };
}
