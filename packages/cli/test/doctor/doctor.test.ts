import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { diagnose, type Diagnosis } from '../../src/doctor/diagnose.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { readDeployment } from '../../src/project/deployment.ts';
import { readProject } from '../../src/project/read-project.ts';
import { runSluice } from '../sluice.ts';
import { APPLICATIONS } from './applications.ts';
import { MISTAKES } from './mistakes.ts';

const examples = fileURLToPath(new URL('../../../../examples', import.meta.url));
let work: string;

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'sluice-doctor-'));
});
afterAll(() => {
  rmSync(work, { recursive: true, force: true });
});

/** Writes an application, and returns its folder. */
function written(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(work, 'app-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

async function diagnosed(folder: string): Promise<Diagnosis> {
  return diagnose(await readProject(folder), await readDeployment(folder));
}

const shown = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ path, line, rule }) => `${path}:${String(line)} ${rule}`).toSorted();

describe('a mistake is found', () => {
  it.each(Object.keys(MISTAKES))('%s', async (name) => {
    const { files = {}, mistakes = [] } = MISTAKES[name] ?? {};

    expect(shown((await diagnosed(written(files))).mistakes)).toEqual(mistakes.toSorted());
  });
});

describe('nothing is wrong with', () => {
  it.each(Object.keys(APPLICATIONS))('%s', async (name) => {
    const { mistakes, notRead, limiters } = await diagnosed(written(APPLICATIONS[name] ?? {}));

    expect(shown(mistakes)).toEqual([]);
    expect(notRead).toEqual([]);
    expect(limiters).toBeGreaterThan(0);
  });

  it.each(readdirSync(examples).filter((name) => existsSync(join(examples, name, 'src'))))(
    'examples/%s',
    async (name) => {
      expect(shown((await diagnosed(join(examples, name))).mistakes)).toEqual([]);
    },
  );
});

it('reads the limiters of an example', async () => {
  expect((await diagnosed(join(examples, 'express'))).limiters).toBe(4);
  expect((await diagnosed(join(examples, 'fastify'))).limiters).toBe(4);
});

describe('to check, and no mistake', () => {
  it('is a limit by address where nothing shows a proxy', async () => {
    const { files = {} } = MISTAKES['a proxy that Express does not trust'] ?? {};
    const sources = Object.fromEntries(Object.entries(files).filter(([path]) => path !== 'nginx.conf'));

    const { mistakes, toCheck } = await diagnosed(written(sources));

    expect(shown(mistakes)).toEqual([]);
    expect(shown(toCheck)).toEqual(['src/app.ts:4 proxy-not-trusted']);
  });

  it('is a limiter in a handler that keeps it', async () => {
    const { toCheck } = await diagnosed(
      written(APPLICATIONS['a shop on Express, in CommonJS, with a limiter for each tenant that is kept'] ?? {}),
    );

    expect(shown(toCheck)).toEqual(['src/limits.js:28 limiter-per-request']);
  });

  it('is a store that comes from elsewhere, where several processes run', async () => {
    const { mistakes, toCheck } = await diagnosed(
      written({
        'main.mjs': "import cluster from 'node:cluster';\ncluster.fork();\n",
        'app.mjs': `import { byUser, rateLimit } from '@sluice/koa';
export const limitOf = (store) => rateLimit({ limit: 1, window: '1m', key: byUser(), store });
`,
      }),
    );

    expect(shown(mistakes)).toEqual([]);
    expect(shown(toCheck)).toEqual(['app.mjs:2 memory-of-each-process']);
  });
});

describe('sluice doctor', () => {
  it('prints each mistake with its place and what to write instead, and fails', async () => {
    const folder = written(MISTAKES['a limiter for every request']?.files ?? {});

    const { code, out, err } = await runSluice(['doctor', folder]);

    expect(code).toBe(1);
    expect(err).toBe('sluice: 1 mistake');
    expect(out).toContain('app.js:5  limiter-per-request\n  every request makes a limiter of its own');
    expect(out).toContain('instead: make it once, outside the handler');
    expect(out).toContain('1 limiter, 1 certain to be wrong, 1 to check');
  });

  it('says what it does not understand, and succeeds where nothing is wrong', async () => {
    const folder = written({
      'app.js': "import { createLimiter } from '@sluice/core';\nexport const limiter = createLimiter(settings());\n",
      'broken.js': 'const = ;\n',
    });

    const { code, out, err } = await runSluice(['doctor', folder]);

    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('not understood: broken.js: ');
    expect(out).toContain('not understood: app.js:2: the options of this limiter are not written');
  });

  it('prints the diagnosis for programs', async () => {
    const { code, out } = await runSluice([
      '--json',
      'doctor',
      written(MISTAKES['two limiters of one name']?.files ?? {}),
    ]);

    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      mistakes: [{ rule: 'name-taken', path: 'app.js', line: 5 }],
      toCheck: [],
      notRead: [],
      limiters: 2,
    });
  });

  it('takes a folder that is there', async () => {
    expect(await runSluice(['doctor', join(work, 'nowhere')])).toMatchObject({ code: 2 });
  });
});
