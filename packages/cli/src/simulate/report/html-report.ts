import { readFileSync } from 'node:fs';
import type { CheckReport } from './check.ts';
import type { Curves } from './curves.ts';
import type { Report } from './report.ts';

const FOLDER = new URL('../page/', packageFile());

/** The package's manifest, which is beside dist/ and src/. */
function packageFile(): URL {
  const here = import.meta.url;
  const at = Math.max(here.lastIndexOf('/dist/'), here.lastIndexOf('/src/'));
  return new URL(`${here.slice(0, at)}/dist/`);
}

/** The report as one HTML file that needs nothing else: no network, no other file. */
export function htmlReport(
  report: Report & { readonly check: CheckReport | null; readonly exceeded: readonly string[] },
  curves: Curves,
): string {
  const part = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');
  // No text of the log ends the element that holds it.
  const data = JSON.stringify({ report, curves }).replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028');
  const parts: Readonly<Record<string, string>> = {
    '/* style */': part('report.css'),
    '/* script */': part('report.js'),
    '"data"': data,
  };
  return part('report.html').replaceAll(/\/\* (?:style|script) \*\/|"data"/g, (name) => parts[name] ?? '');
}
