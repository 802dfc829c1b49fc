import { lstatSync, readFileSync, statSync, writeFileSync, type Stats } from 'node:fs';
import { UsageError } from '../failure.ts';
import type { Curves, Report } from './report.ts';
import { formatTextReport } from './text-report.ts';

/** Next to dist/ and src/. */
const FOLDER = new URL('page/', import.meta.url.replace(/\/(?:dist|src)\/(?!.*\/(?:dist|src)\/).*$/, '/'));

/** The place of the slider's first window. */
const START = 1;

/** The report as one self-contained HTML file: it needs no network and no other file. */
export function formatHtmlReport(report: Report, windows: Curves): string {
  const part = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');
  // Text from the log must not end the element that holds it.
  const { requests, clients, suggestions } = report;
  const start = { window: START, limit: suggestions[START]?.limit ?? 1 };
  const data = JSON.stringify({ text: formatTextReport(report), requests, clients, start, windows });
  const parts: Readonly<Record<string, string>> = {
    '/* style */': part('report.css'),
    '/* script */': part('report.js'),
    '"the report"': data.replaceAll('<', '\\u003c'),
  };
  return part('report.html').replaceAll(/\/\* (?:style|script) \*\/|"the report"/g, (name) => parts[name] ?? '');
}

/**
 * Checks that `--html` can be written before reading the log, which may take long. A program that may write to the
 * folder could have put a link to one of the user's files there.
 *
 * @throws UsageError.
 */
export function checkHtml(path: string, logs: readonly string[]): void {
  const fail = (why: string): never => {
    throw new UsageError(`cannot write --html ${path}: ${why}`);
  };
  const found = existing(path);
  if (found?.isSymbolicLink() === true) fail('it is a symbolic link; name the file');
  const isLog = (log: string): boolean => {
    const other = statSync(log, { throwIfNoEntry: false });
    return found?.isFile() === true && other?.ino === found.ino && other.dev === found.dev;
  };
  if (logs.some(isLog)) fail('it is one of the logs, which it would replace');
  writeHtml(path, '', 'a'); // adds nothing
}

function existing(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // a file for a folder, which writing tells
  }
}

/** @throws UsageError for a file that cannot be written. */
export function writeHtml(path: string, text: string, flag: 'a' | 'w' = 'w'): void {
  try {
    writeFileSync(path, text, { flag });
  } catch (error) {
    throw new UsageError(`cannot write --html ${path}: ${(error as Error).message}`, { cause: error });
  }
}
