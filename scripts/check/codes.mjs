import { readFileSync } from 'node:fs';

const SOURCES = ['errors.ts', 'warnings.ts'].map((name) => new URL(`../../packages/core/src/${name}`, import.meta.url));

/** Every code that an error or a warning can carry, read from the types. */
export const codes = () =>
  new Set(
    SOURCES.flatMap((source) =>
      [
        ...readFileSync(source, 'utf8').matchAll(/^ *\| '(SLUICE_\w+)'|= '(SLUICE_\w+)'(?= \||;)|\| '(SLUICE_\w+)'/gm),
      ].map((match) => match[1] ?? match[2] ?? match[3]),
    ),
  );
