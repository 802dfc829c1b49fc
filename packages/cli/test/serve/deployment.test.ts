import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
// @ts-expect-error -- it has no types
import schemas from './kubernetes-schemas.mjs';
import { get, HealthClient, useServe } from './serving.ts';

type Kind = 'Namespace' | 'ConfigMap' | 'Secret' | 'Deployment' | 'Service' | 'PodDisruptionBudget';
const kinds = schemas as Readonly<Record<Kind, new (document: object) => { validate(): void }>>;

interface Document {
  readonly kind: Kind;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

const serving = useServe();

function example(name: string): string {
  return readFileSync(new URL(`../../../../examples/deployment/${name}`, import.meta.url), 'utf8');
}

function documents(): readonly Document[] {
  return parseAllDocuments(example('kubernetes.yaml')).map((document) => document.toJS() as Document);
}

/** Words of a command line, with ports of the test's own. */
function withOwnPorts(args: readonly string[]): readonly string[] {
  return args.map((arg) => arg.replace(/:\d{4}$/, ':0').replace('0.0.0.0', '127.0.0.1'));
}

async function servesWith(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
  const path = serving.file(example('limits.yaml'));
  const own = withOwnPorts(args).map((arg) => arg.replace('/etc/sluice/limits.yaml', path));
  const one = await serving.serve([...own, '--admin', '0'].flatMap(split), { env });
  expect(await new HealthClient(`http://${one.addresses['grpc'] ?? ''}`).check()).toBe('SERVING');
  expect((await get(one.addresses['http'] ?? '', '/healthcheck')).status).toBe(200);
  one.kill('SIGINT');
  expect(await one.ended).toBe(0);
}

/** `--name=value` as two words, as {@link useServe} looks for names. */
function split(arg: string): readonly string[] {
  const at = arg.startsWith('--') ? arg.indexOf('=') : -1;
  return at === -1 ? [arg] : [arg.slice(0, at), arg.slice(at + 1)];
}

describe('the manifest for Kubernetes', () => {
  it.each(documents().map((document): [string, Document] => [document.kind, document]))(
    'has a %s that the schema accepts',
    (kind, document) => {
      const made = new kinds[kind as Kind](document);

      expect(() => {
        made.validate();
      }).not.toThrow();
    },
  );

  it('is compared with schemas that know wrong ones', () => {
    const deployment = documents().find(({ kind }) => kind === 'Deployment');
    const wrong = { ...deployment, spec: { ...deployment?.spec, replicas: 'two' } };

    expect(() => {
      new kinds.Deployment(wrong).validate();
    }).toThrow('replicas');
  });

  it('starts the service with the limits of its ConfigMap', async () => {
    const all = documents();
    const limits = all.find(({ kind }) => kind === 'ConfigMap')?.data?.['limits.yaml'] ?? '';
    const { template } = (all.find(({ kind }) => kind === 'Deployment')?.spec ?? {}) as {
      template: { spec: { containers: { args: string[] }[] } };
    };

    expect((await serving.run(['--config', serving.file(limits), '--check'])).code).toBe(0);
    const args = (template.spec.containers[0]?.args ?? []).map((arg) => arg.replace('10s', '0'));
    await servesWith(args, { SLUICE_TOKEN: 'change-me-before-use' });
  });
});

describe('the Dockerfile', () => {
  it('starts the service', async () => {
    const [entry, more] = ['ENTRYPOINT', 'CMD'].map(
      (name) => JSON.parse(new RegExp(`^${name} (.*)$`, 'm').exec(example('Dockerfile'))?.[1] ?? '') as string[],
    );

    expect(entry).toEqual(['sluice', 'serve']);
    await servesWith(more ?? []);
  });
});

describe('the unit of systemd', () => {
  it('starts the service', async () => {
    const command = /^ExecStart=\/usr\/bin\/sluice serve (.*)$/m.exec(example('sluice.service'))?.[1] ?? '';

    await servesWith(command.split(' '));
  });
});
