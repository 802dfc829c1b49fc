import { existsSync, readFileSync } from 'node:fs';

const SOURCES = ['core', 'old-core']
  .flatMap((folder) => ['errors.ts', 'warnings.ts'].map((name) => `../../packages/${folder}/src/${name}`))
  .map((path) => new URL(path, import.meta.url))
  .filter((source) => existsSync(source));

/** Every code that an error or a warning can carry, read from the types. */
export const codes = () =>
  new Set(
    SOURCES.flatMap((source) =>
      [
        ...readFileSync(source, 'utf8').matchAll(/^ *\| '(SLUICE_\w+)'|= '(SLUICE_\w+)'(?= \||;)|\| '(SLUICE_\w+)'/gm),
      ].map((match) => match[1] ?? match[2] ?? match[3]),
    ),
  );
