import { parentPort, workerData } from 'node:worker_threads';
import { ConfigurationError } from './configuration-error.ts';
import type { Reading, ReadResult } from './load-configuration.ts';
import { readConfiguration } from './read-configuration.ts';

// The program of a thread that reads a large configuration, so that the thread of the service does not wait for it.
const { files, mergeDomains } = workerData as Reading;
parentPort?.postMessage(read());

function read(): ReadResult {
  try {
    return { data: readConfiguration(files, mergeDomains) };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { problems: error.problems };
  }
}
