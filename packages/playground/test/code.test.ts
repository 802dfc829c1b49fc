import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import {
  FRAMEWORKS,
  HEADER_CHOICES,
  KEY_CHOICES,
  POLICY_KINDS,
  PRESETS,
  checkedPolicies,
  codeOf,
  initialScenario,
  newPolicy,
  presetTraffic,
  replay,
  responseTo,
  withNames,
  type HeaderChoice,
  type PolicyChoice,
  type Response as Shown,
  type Scenario,
} from '../src/index.ts';
import { compilePrograms } from './programs.ts';

/** Windows are long, so that none ends during a test. */
const policies = withNames([
  { kind: 'fixedWindow', name: '', values: { limit: '12', window: '1d', align: 'clock' } },
  { kind: 'tokenBucket', name: '', values: { capacity: '8', refill: '1', every: '1h' } },
]);
const initial = initialScenario();
const scenario = (of: Partial<Scenario>): Scenario => ({
  ...initial,
  traffic: { ...presetTraffic(PRESETS[0] as never, { units: 1, windowMs: 1 }, 1), cost: 3 },
  ...of,
});
const run: readonly (readonly [string, Scenario])[] = [
  ['express', scenario({ policies, framework: 'express' })],
  ['fastify', scenario({ policies, framework: 'fastify', headers: 'draft-7' })],
  ['koa', scenario({ policies, framework: 'koa', headers: 'legacy-delta', key: 'api-key' })],
  ['nestjs', scenario({ policies, framework: 'nestjs', headers: 'draft-6' })],
  ['fetch', scenario({ policies, framework: 'fetch' })],
  ['hono', scenario({ policies, framework: 'hono', headers: 'draft-7' })],
  ['core', scenario({ policies, framework: 'core' })],
  ['express-alone', scenario({ policies: [newPolicy('slidingLog')], framework: 'express', key: 'all' })],
  ['fastify-alone', scenario({ policies: [newPolicy('slidingLog')], framework: 'fastify' })],
];
/** Every framework, with every policy, key, format and store somewhere. */
const every: readonly (readonly [string, Scenario])[] = FRAMEWORKS.flatMap(({ id: framework }, i) =>
  POLICY_KINDS.map(({ id }, j): [string, Scenario] => [
    `${framework}-${id}`,
    scenario({
      framework,
      policies: withFields(id),
      key: KEY_CHOICES[(i + j) % KEY_CHOICES.length]?.id ?? 'ip',
      store: (i + j) % 2 === 0 ? 'redis' : 'memory',
      headers: HEADER_CHOICES[(i + j) % HEADER_CHOICES.length]?.id ?? '',
    }),
  ]),
);
const programs = await compilePrograms(Object.fromEntries([...run, ...every].map(([name, of]) => [name, codeOf(of)])));
/** They start while the other tests run. */
const addresses = new Map(run.map(([name]) => [name, programs.start(name)]));

/** A policy of this kind with a value in every field. */
function withFields(id: string): readonly PolicyChoice[] {
  const { values } = newPolicy(id);
  const more = { precision: '4s', align: 'clock', overdraft: '5' };
  return [{ kind: id, name: 'a-name', values: { ...more, ...values } }];
}

afterAll(async () => {
  await programs.close();
});

describe('the code for a framework', () => {
  it('compiles, with every policy, key, store and format of fields', () => {
    expect(programs.errors).toBe('');
  });

  it('is written as Prettier writes it', () => {
    expect(programs.unformatted).toBe('');
  });

  it('names only what it uses', () => {
    for (const [, of] of [...run, ...every]) {
      const [, names = '', rest = ''] =
        /import .*\{ ?([^}]*) ?\} from '@sluice\/[\w/]+';\n(.*)/s.exec(codeOf(of)) ?? [];

      expect(
        names
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name !== '' && !rest.includes(name)),
      ).toEqual([]);
    }
  });
});

describe('a program over HTTP', () => {
  it.each(run)('limits as the page shows: %s', async (name, of) => {
    const address = (await addresses.get(name)) ?? '';
    const shown = shownResponses(of, 20);

    const sent: Shown[] = [];
    for (let i = 0; i < shown.length; i++) sent.push(await responseOf(address, shown[i] as Shown));

    expect(sent.some(({ status }) => status.startsWith('429'))).toBe(true);
    expect(sent).toEqual(shown);
  });
});

/** What the page shows of so many requests of one client at one instant. */
function shownResponses(of: Scenario, count: number): readonly Shown[] {
  const { policies: checked = [] } = checkedPolicies(of.policies);
  const offered = Array.from({ length: count }, () => ({ atMs: 0, client: 0, cost: 3, runsMs: 0 }));
  const { answers } = replay(checked, offered, { spanMs: 1_000, watched: 0, shared: false });
  const format = HEADER_CHOICES.find(({ id }) => id === of.headers) as HeaderChoice;
  const withFieldsOf = of.framework === 'core' ? ['Retry-After'] : undefined;
  return answers.map(({ decision }) => {
    const { status, fields, body } = responseTo(decision, format);
    return {
      status,
      fields: fields.filter(({ name }) => withFieldsOf?.includes(name) ?? true).map(withoutTime),
      body: of.framework === 'core' && body !== undefined ? 'Too many requests\n' : (body ?? 'hello\n'),
    };
  });
}

async function responseOf(address: string, { fields }: Shown): Promise<Shown> {
  const response = await fetch(address, { headers: { 'x-api-key': 'secret' } });
  return {
    status: `${String(response.status)} ${response.statusText}`,
    fields: fields.map(({ name }) => withoutTime({ name, value: response.headers.get(name) ?? 'missing' })),
    body: await response.text(),
  };
}

/** Windows of the clock end at another distance now than in the page, whose clock stands at midnight. */
function withoutTime({ name, value }: { readonly name: string; readonly value: string }): Shown['fields'][number] {
  if (/Reset|Retry-After/.test(name)) return { name, value: /^\d+$/.test(value) ? 'seconds' : value };
  return { name, value: value.replaceAll(/;t=\d+|reset=\d+/g, ';t') };
}

const entry = fileURLToPath(new URL('../src/index.ts', import.meta.url));
const {
  outputFiles: [file],
  metafile,
} = await build({
  entryPoints: [entry],
  ...{ bundle: true, minify: true, write: false, metafile: true, outdir: '/' },
  format: 'esm',
  // Fails when anything imports a module of Node.js.
  platform: 'browser',
  conditions: ['@sluice/source'],
  // Clients of Redis, which only a store in Redis loads.
  external: ['ioredis', 'redis'],
});

describe('the bundle of the playground', () => {
  it('has the program of core, and nothing of Redis, sockets or frameworks', () => {
    const { inputs = {}, imports = [] } = Object.values(metafile.outputs)[0] ?? {};
    const modules = Object.keys(inputs).filter((path) => (inputs[path]?.bytesInOutput ?? 0) > 0);

    expect(imports).toEqual([]);

    expect(modules).toContainEqual(expect.stringMatching(/core\/src\/program\/decide\.ts$/));
    expect(modules.filter((path) => /redis|remote|managed|\.lua|node_modules\/(?!@sluice)/.test(path))).toEqual([]);
  });

  it('is a small part of the page', () => {
    expect(gzipSync(file?.contents ?? '').length).toBeLessThan(38_000);
  });
});
