import { ofProcess } from './of-process.ts';

const ALL = ofProcess('@sluice/core', () => ({ copies: 0 }));
ALL.copies += 1;

/**
 * For messages about an object that this copy did not make: says so where several copies are loaded. Node.js loads one
 * for `import` and `require`; a tool that cannot `require` an ES module loads two.
 */
export function copiesHint(): string {
  return ALL.copies < 2
    ? ''
    : `. This process has loaded ${String(ALL.copies)} copies of @sluice/core, and they do not know each other's objects: load it either with import or with require, and in one version`;
}
