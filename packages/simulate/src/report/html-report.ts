import { readFileSync } from 'node:fs';
import type { Curves } from './curves.ts';
import type { Report } from './report.ts';

/** Beside dist/ and src/. */
const FOLDER = new URL('page/', import.meta.url.replace(/\/(?:dist|src)\/(?!.*\/(?:dist|src)\/).*$/, '/'));

/** The report as one HTML file that needs nothing else: no network, no other file. */
export function htmlReport(report: Report & { readonly exceeded: readonly string[] }, curves: Curves): string {
  const part = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');
  // No text of the log ends the element that holds it.
  const data = JSON.stringify({ report, curves }).replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028');
  const parts: Readonly<Record<string, string>> = {
    '/* style */': part('report.css'),
    '/* script */': part('report.js'),
    '"the report"': data,
  };
  return part('report.html').replaceAll(/\/\* (?:style|script) \*\/|"the report"/g, (name) => parts[name] ?? '');
}
