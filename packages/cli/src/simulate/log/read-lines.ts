import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import { UsageError } from '../../failure.ts';

const CHUNK = 256 * 1024;
/** A longer line is not a request, and is not kept. */
const MAX_LINE = 1024 * 1024;

/** The bytes of a log: a file, or the standard input for `-`. */
export function openLog(path: string): Readable {
  return path === '-' ? process.stdin : createReadStream(path, { highWaterMark: CHUNK });
}

/**
 * The lines of a log, possibly gzipped, in batches.
 *
 * @throws (rejects) UsageError for a log that cannot be read, or is not text.
 */
export async function* readLines(stream: Readable, name: string): AsyncGenerator<readonly string[]> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let isFirst = true;
  try {
    for await (const chunk of await unpacked(stream)) {
      let text = decoder.write(chunk);
      // The byte order mark and, in a log truncated while its server kept writing, zeros.
      if (isFirst) text = text.replace(/^[\0\ufeff]+/, '');
      if (isFirst && text.includes('\0')) throw new Error(NO_TEXT);
      isFirst &&= text === '';
      const lines = text.split('\n');
      const last = lines.pop() ?? '';
      if (lines.length > 0) {
        lines[0] = rest + (lines[0] ?? '');
        rest = last;
        yield lines;
      } else if (rest.length < MAX_LINE) rest += last;
    }
  } catch (error) {
    throw new UsageError(`cannot read the log ${name}: ${(error as Error).message}`, { cause: error });
  }
  if (rest !== '') yield [rest];
}

const NO_TEXT = "it is not text; write 'zstdcat LOG | sluice simulate -', or bzcat, xzcat, unzip -p, iconv -f UTF-16";

async function unpacked(stream: Readable): Promise<AsyncIterable<Buffer>> {
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 2) {
    const next = await chunks.next(); // a pipe may hand on one byte at a time
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  const whole = Readable.from(
    (async function* () {
      yield head;
      yield* { [Symbol.asyncIterator]: () => chunks };
    })(),
  );
  if (head[0] !== 0x1f || head[1] !== 0x8b) return whole;
  return pipeline(whole, createGunzip({ chunkSize: CHUNK }), () => undefined); // who reads it gets its errors
}
