import type { Candidate } from './candidates/candidate.ts';
import type { KeySpec } from './keys/key-spec.ts';
import { InOrder } from './read/in-order.ts';
import { LogFile } from './read/log-file.ts';
import type { LogFormat } from './formats/log-entry.ts';
import { merge } from './read/merge.ts';
import { closeSource, type Source } from './read/sources.ts';
import { Replay, type OnDecision } from './replay/replay.ts';

/** The logs and candidates of a replay, and its settings. */
export interface SimulateOptions {
  readonly sources: readonly Source[];
  readonly makeFormat: (() => LogFormat) | undefined;
  readonly candidates: readonly Candidate[];
  readonly key: KeySpec;
  readonly maxKeys: number;
  readonly curves: boolean;
  /** how far lines may be out of order. */
  readonly resortMs: number;
  readonly onDecision?: OnDecision | undefined;
  /** Called between two parts of the log, with the lines read so far. */
  readonly onProgress?: ((lines: number) => void) | undefined;
}

/** A log that was replayed. */
export interface Simulation {
  readonly files: readonly LogFile[];
  readonly replay: Replay;
  /** Entries that came later than the window of the order. */
  readonly late: number;
  /** Whether all stamps are whole seconds. */
  readonly isCoarse: boolean;
}

/**
 * Replays logs through candidates. Takes memory for `maxKeys` keys and for what waits to be ordered, however long the
 * log is.
 *
 * @throws (rejects) UsageError for a log that cannot be read.
 */
export async function simulate(options: SimulateOptions): Promise<Simulation> {
  const files = options.sources.map((source) => new LogFile(source, options.makeFormat));
  const replay = new Replay(options);
  const order = new InOrder(options.resortMs, (entries, second) => {
    replay.add(entries, second);
  });
  try {
    await merge(
      files.map((file) => file.entries()),
      (entry) => {
        order.add(entry);
      },
      () => {
        options.onProgress?.(files.reduce((sum, { lines }) => sum + lines, 0));
      },
    );
  } finally {
    for (const source of options.sources) closeSource(source);
  }
  order.end();
  for (const file of files) file.checkAtEnd();
  replay.end();
  const isCoarse = replay.requests > 0 && files.every(({ format }) => format?.hasFractions !== true);
  return { files, replay, late: order.late, isCoarse };
}
