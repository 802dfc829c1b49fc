// The frames of the hostile tests. Those are TypeScript without imports, and Node 20 does not read that.
import { readFileSync } from 'node:fs';
import { transformSync } from '@swc/core';

const SOURCE = new URL('../../../packages/server/test/rls/hostile/frames.ts', import.meta.url);
const options = { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } };
const { code } = transformSync(readFileSync(SOURCE, 'utf8'), options);

/** As `packages/server/test/rls/hostile/frames.ts` has them. */
export const h2 = await import(`data:text/javascript,${encodeURIComponent(code)}`);
