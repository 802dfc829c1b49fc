import { lineOf } from '../project/source-file.ts';
import type { Place } from '../project/values.ts';

/** One thing that `sluice doctor` says about a place. */
export interface Finding {
  readonly rule: Rule;
  readonly path: string;
  readonly line: number;
  /** The consequence, as a sentence. */
  readonly text: string;
  /** The code or the setting to write instead. */
  readonly instead: string;
}

export type Rule =
  | 'limiter-per-request'
  | 'store-per-request'
  | 'memory-of-each-process'
  | 'proxy-not-trusted'
  | 'proxy-trusts-all'
  | 'proxy-hop-count'
  | 'key-chosen-by-client'
  | 'key-unchecked'
  | 'key-raw-address'
  | 'key-missing'
  | 'not-called'
  | 'unit-missing'
  | 'policy-unnamed'
  | 'name-taken'
  | 'decision-ignored'
  | 'decision-not-awaited';

/** Takes findings: mistakes are certain from the text, and the others depend on what the text does not show. */
export interface Findings {
  mistake(rule: Rule, place: Place, text: string, instead: string): void;
  toCheck(rule: Rule, place: Place, text: string, instead: string): void;
}

export class FindingList implements Findings {
  readonly mistakes: Finding[] = [];
  readonly checks: Finding[] = [];

  mistake(rule: Rule, place: Place, text: string, instead: string): void {
    add(this.mistakes, rule, place, text, instead);
  }

  toCheck(rule: Rule, place: Place, text: string, instead: string): void {
    add(this.checks, rule, place, text, instead);
  }
}

/** An options object that two limiters share is told of once. */
function add(to: Finding[], rule: Rule, { file, node }: Place, text: string, instead: string): void {
  const finding = { rule, path: file.path, line: lineOf(file, node), text, instead };
  if (to.some((other) => other.rule === rule && other.path === finding.path && other.line === finding.line)) return;
  to.push(finding);
}
