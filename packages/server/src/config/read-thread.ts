import { parentPort, workerData } from 'node:worker_threads';
import { ConfigurationError } from './configuration-error.ts';
import type { ReadResult } from './load-configuration.ts';
import { readConfiguration, type ConfigurationFile } from './read-configuration.ts';

// The program of a thread that reads a large configuration, so that the thread of the service does not wait for it.
parentPort?.postMessage(read());

function read(): ReadResult {
  try {
    return { data: readConfiguration(workerData as readonly ConfigurationFile[]) };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { problems: error.problems };
  }
}
