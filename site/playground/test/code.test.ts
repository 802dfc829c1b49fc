import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { ExampleProcess, freePort, until } from '@sluice/testkit';
import { FRAMEWORKS, writeCode } from '../code.ts';
import { POLICY_KINDS, checkPolicies, newPolicy } from '../policies.ts';
import { replay } from '../replay.ts';
import { KEY_CHOICES, initialScenario, type Scenario } from '../scenario.ts';
import { HEADER_CHOICES, writeResponse, type Response as Shown } from '../shown.ts';
import type { Pasted } from '../traffic.ts';

const { traffic } = initialScenario();
const scenario = (of: Partial<Scenario>): Scenario => ({
  ...initialScenario(),
  traffic: { ...traffic, cost: 3 } as Scenario['traffic'],
  // Windows are long, so that none ends during a test.
  policies: [
    { kind: 'fixedWindow', values: { limit: '12', window: '1d', align: 'clock', name: 'day' } },
    { kind: 'tokenBucket', values: { capacity: '8', refill: '1', every: '1h', name: 'burst' } },
  ],
  ...of,
});
const formats = ['draft-11', 'draft-7', 'legacy-delta', 'draft-6', 'legacy-epoch', 'draft-7', 'draft-11'];
/** Each framework, in a format of fields of its own. */
const run = FRAMEWORKS.map(({ id }, i): [string, Scenario] => [
  id,
  scenario({ framework: id, headers: formats[i] ?? '', key: id === 'koa' ? 'api-key' : 'ip' }),
]);
/** Every framework, with every policy with a value in every field, every key, format and store somewhere. */
const every = FRAMEWORKS.flatMap(({ id: framework }, i) =>
  POLICY_KINDS.map(({ id: kind }, j): [string, Scenario] => [
    `${framework}-${kind}`,
    scenario({
      framework,
      policies: [{ kind, values: { ...newPolicy(kind).values, precision: '4s', align: 'clock', overdraft: '5' } }],
      key: KEY_CHOICES[(i + j) % KEY_CHOICES.length]?.id ?? 'ip',
      store: (i + j) % 2 === 0 ? 'redis' : 'memory',
      headers: HEADER_CHOICES[(i + j) % HEADER_CHOICES.length]?.id ?? '',
    }),
  ]),
);

const modules = fileURLToPath(new URL('../../../node_modules/', import.meta.url));
const cache = `${modules}.cache/sluice/`;
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(`${cache}programs-`);
// Has every dependency of the packages.
symlinkSync(`${modules}.pnpm/node_modules`, `${folder}/node_modules`);
const ports = new Map<string, number>();
for (const [name, of] of [...run, ...every]) {
  ports.set(name, await freePort());
  const program = writeCode(of).replace('3000', String(ports.get(name)));
  writeFileSync(`${folder}/${name}.ts`, program);
  // Applications of NestJS are CommonJS before its version 12.
  if (name.startsWith('nestjs')) writeFileSync(`${folder}/${name}.cts`, program);
}
const compilerOptions = {
  ...{ target: 'es2022', module: 'nodenext', moduleDetection: 'force', types: ['node'], outDir: 'out', rootDir: '.' },
  ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
  ...{ noUnusedLocals: true, experimentalDecorators: true, emitDecoratorMetadata: true },
};
writeFileSync(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions }));
const compiled = spawnSync(process.execPath, [`${modules}@typescript/native/bin/tsc`, '-p', folder], {
  encoding: 'utf8',
});
const started = run.map(([name]) => new ExampleProcess(pathToFileURL(`${folder}/out/${name}.js`), {}));

afterAll(async () => {
  for (const program of started) program.stop();
  await Promise.all(started.map((program) => program.ends()));
  rmSync(folder, { recursive: true });
});

describe('the code for a framework', () => {
  it('compiles, with every policy, key, store and format of fields, and names only what it uses', () => {
    expect(compiled.stdout).toBe('');
  });

  it('is written as Prettier writes it', () => {
    const style = [
      '--list-different',
      '--with-node-modules',
      '--no-config',
      '--single-quote',
      '--ignore-path',
      `${folder}/none`,
    ];
    const prettier = `${modules}prettier/bin/prettier.cjs`;

    expect(execFileSync(process.execPath, [prettier, ...style, `${folder}/*.ts`], { encoding: 'utf8' })).toBe('');
  });

  it.each(run)('limits over HTTP as the page shows: %s', async (name, of) => {
    const address = `http://127.0.0.1:${String(ports.get(name))}`;
    const shown = showResponses(of, 8);
    const sent: Shown[] = [];
    // A connection that fails is not counted.
    for (const expected of shown)
      sent.push(await until('the program answers', () => askFor(address, expected).catch(() => undefined)));

    expect(sent.some(({ status }) => status.startsWith('429'))).toBe(true);
    expect(sent).toEqual(shown);
  });
});

/** What the page shows of requests of one client at one instant. */
function showResponses(of: Scenario, count: number): readonly Shown[] {
  const requests = Array.from({ length: count }, () => ({ atMs: 0, client: 0, cost: 3 }));
  const at0: Pasted = { from: 'pasted', clients: ['a'], spanMs: 1_000, runsMs: 0, retries: 'none', requests };
  const { answers } = replay(checkPolicies(of.policies).policies ?? [], at0, { watched: 0, isShared: false });
  return answers.map(({ decision }) => {
    const { status, fields, body } = writeResponse(decision, of.headers);
    if (of.framework !== 'core') return { status, fields: fields.map(withoutTime), body: untimed(body ?? 'hello\n') };
    const own = fields.filter(({ name }) => name === 'Retry-After');
    return { status, fields: own.map(withoutTime), body: body === undefined ? 'hello\n' : 'Too many requests\n' };
  });
}

async function askFor(address: string, { fields }: Shown): Promise<Shown> {
  const response = await fetch(address, { headers: { 'x-api-key': 'secret' } });
  return {
    status: `${String(response.status)} ${response.statusText}`,
    fields: fields.map(({ name }) => withoutTime({ name, value: response.headers.get(name) ?? 'missing' })),
    body: untimed(await response.text()),
  };
}

/** A slow machine asks a second later. */
const untimed = (body: string): string => body.replace(/\d+ seconds/, 'some seconds');

/** Windows of the clock end at another distance now than on the page, whose clock stands at midnight. */
function withoutTime({ name, value }: Shown['fields'][number]): Shown['fields'][number] {
  if (/Reset|Retry-After/.test(name)) return { name, value: /^\d+$/.test(value) ? 'seconds' : value };
  return { name, value: value.replaceAll(/;t=\d+|reset=\d+/g, ';t') };
}
