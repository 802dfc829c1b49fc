import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { UsageError } from '../terminal/failure.ts';
import type { LogFormat } from '../formats/log-entry.ts';
import { LogFile } from '../read/log-file.ts';
import { bytesOf, closeSource, openSource, type Source } from '../read/sources.ts';
import { RouteLearner } from './learn-routes.ts';
import { RouteTemplates } from './route-templates.ts';

/** The bytes of the standard input, which is read only once, from which routes are learnt. */
const HEAD_BYTES = 32 * 1024 * 1024;

// eslint-disable-next-line no-control-regex -- they are meant
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * The templates of a file or, where there is none, those that are learnt from the log, which are then written into it:
 * to be edited, and used the next time.
 *
 * @throws (rejects) UsageError for a file that cannot be read or written.
 */
export async function routesFor(
  path: string | undefined,
  sources: readonly Source[],
  makeFormat: (() => LogFormat) | undefined,
): Promise<RouteTemplates> {
  if (path !== undefined && existsSync(path)) {
    try {
      return RouteTemplates.parse(readFileSync(path, 'utf8'), path);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      throw new UsageError(`cannot read --routes ${path}: ${(error as Error).message}`, { cause: error });
    }
  }
  const learner = new RouteLearner();
  for (const source of sources) await learn(learner, source, makeFormat);
  // A terminal that shows the file obeys no text of the log: such paths are among the others.
  const found = new RouteTemplates(learner.templates().templates.filter((template) => !CONTROL.test(template)));
  if (path !== undefined) write(path, found);
  return found;
}

async function learn(learner: RouteLearner, source: Source, makeFormat: (() => LogFormat) | undefined): Promise<void> {
  const isStream = source.size === undefined;
  const copy: Source = isStream ? await headOf(source) : openSource(source.name);
  const file = new LogFile(copy, makeFormat);
  try {
    for await (const entries of file.entries()) for (const entry of entries) learner.add(entry.path);
  } catch (error) {
    closeSource(source);
    closeSource(copy);
    throw error;
  }
}

/** The beginning of a stream, which stays to be read. */
async function headOf(source: Source): Promise<Source> {
  const head: Buffer[] = [];
  const bytes = bytesOf(source);
  for (let read = 0; read < HEAD_BYTES;) {
    const next = await bytes.next();
    if (next.done === true) break;
    head.push(next.value);
    read += next.value.length;
  }
  source.head.push(...head);
  // eslint-disable-next-line @typescript-eslint/require-await
  const rest = (async function* (): AsyncGenerator<Buffer> {
    yield* head;
  })();
  return { ...source, head: [], rest };
}

function write(path: string, { templates }: RouteTemplates): void {
  const text = [
    '# Templates of routes, learnt by sluice simulate. Edit them: a segment with a colon stands for any one, * at the end for all below.',
    ...templates,
    '',
  ].join('\n');
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    throw new UsageError(`cannot write --routes ${path}: ${(error as Error).message}`, { cause: error });
  }
}
