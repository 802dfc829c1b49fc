import { createReadStream, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { UsageError } from '../terminal/failure.ts';

/** A log to read: a file, plain or compressed by gzip, or the standard input. */
export interface Source {
  readonly name: string;
  readonly isStandardInput: boolean;
  /** Bytes on the disk; undefined for what has no size. */
  readonly size: number | undefined;
  /** Bytes of them that were read so far. */
  readBytes: number;
  /** The source of the bytes, once it is open. */
  stream: Readable | undefined;
}

const CHUNK = 256 * 1024;

/** @throws UsageError for a file that cannot be read. */
export function openSource(path: string): Source {
  const unread = { readBytes: 0, stream: undefined };
  if (path === '-') return { name: 'standard input', isStandardInput: true, size: undefined, ...unread };
  try {
    const found = statSync(path);
    if (found.isDirectory()) throw new Error('it is a folder; name its files');
    return { name: path, isStandardInput: false, size: found.isFile() ? found.size : undefined, ...unread };
  } catch (error) {
    throw new UsageError(`cannot read the log ${path}: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Ends the reading of a log, also before its end: a program that writes into a pipe is told, and none is waited for.
 */
export function closeSource({ stream }: Source): void {
  stream?.destroy();
}

/** The bytes of a log, without its compression. */
export async function* bytesOf(source: Source): AsyncGenerator<Buffer> {
  const stream = (source.stream ??= source.isStandardInput
    ? process.stdin
    : createReadStream(source.name, { highWaterMark: CHUNK }));
  const raw = counted(stream, source);
  try {
    const first = await beginning(raw);
    if (first[0] !== 0x1f || first[1] !== 0x8b) {
      if (first.length > 0) yield first;
      yield* raw;
      return;
    }
    const { Readable: Readables } = await import('node:stream');
    const packed = Readables.from(joined(first, raw));
    const unpacked = createGunzip({ chunkSize: CHUNK });
    packed.on('error', (error) => unpacked.destroy(error));
    for await (const chunk of packed.pipe(unpacked)) yield chunk as Buffer;
  } catch (error) {
    throw new UsageError(`cannot read the log ${source.name}: ${(error as Error).message}`, { cause: error });
  }
}

async function* counted(stream: Readable, source: Source): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    source.readBytes += (chunk as Buffer).length;
    yield chunk as Buffer;
  }
}

/** The first bytes, enough to tell gzip: a pipe may hand on one at a time. */
async function beginning(raw: AsyncGenerator<Buffer>): Promise<Buffer> {
  let found: Buffer = Buffer.alloc(0);
  while (found.length < 2) {
    const next = await raw.next();
    if (next.done === true) break;
    found = found.length === 0 ? next.value : Buffer.concat([found, next.value]);
  }
  return found;
}

async function* joined(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}
