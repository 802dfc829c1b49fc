import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const rows = readFileSync(`${root}SECURITY.md`, 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\| (tries|---)/.test(line) && !line.startsWith('| -'))
  .map((line) => line.split('|').map((cell) => cell.trim()));

describe('a line of the threat model', () => {
  it('is found in SECURITY.md', () => {
    expect(rows.length).toBeGreaterThan(25);
  });

  it.each(rows.map(([, tries = '', , shownBy = '']) => [tries, shownBy]))(
    '"%s" is shown by a test',
    (_tries, shownBy) => {
      const [, file = '', title = ''] = /^`([^`]+)` "(.+)"$/.exec(shownBy) ?? [];

      expect(existsSync(root + file) && file).toMatch(/\.ts$/);
      const source = readFileSync(root + file, 'utf8');
      // A title is in quotes, as the first argument of a test or in a table.
      expect(['it', 'each', '['].some((before) => source.includes(before)) && source.includes(`'${title}'`)).toBe(true);
    },
  );
});
