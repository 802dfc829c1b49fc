import type { Refusal } from './client-statistics.ts';
import { line, type Line } from './line.ts';

const SHOWN_FIELDS = /^(ratelimit|retry-after$|content-type$|cache-control$)/i;

/** What a 429 looks like. */
export function refusalLines(refusal: Refusal | undefined): readonly Line[] {
  if (refusal === undefined) return [];
  const { kind, answer } = refusal;
  const fields = answer.rawFields.flatMap((name, i) =>
    i % 2 === 0 && SHOWN_FIELDS.test(name) ? [line(`  ${name}: ${answer.rawFields[i + 1] ?? ''}`)] : [],
  );
  return [
    line(''),
    line(`A refusal, as a ${kind} got it from ${answer.path}`, 'dim'),
    line(`  HTTP/1.1 ${String(answer.status)} ${answer.statusText}`),
    ...fields,
    line(''),
    line(`  ${answer.body}`),
  ];
}
