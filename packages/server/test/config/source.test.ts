import { mkdir, mkdtemp, rename, rm, symlink, truncate, unlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { until, useClosing } from '@sluice/testkit';
import { ConfigurationSource, type SourceOptions } from '../../src/config/configuration-source.ts';
import { loadConfiguration } from '../../src/config/load-configuration.ts';
import { makeLimit } from './reading.ts';

const file = (requests: number, domain = 'd'): string =>
  `domain: ${domain}\ndescriptors: [{ key: k, rate_limit: { unit: minute, requests_per_unit: ${String(requests)} } }]\n`;

const closing = useClosing();

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'sluice-config-'));
  closing(() => rm(made, { recursive: true, force: true }));
  return made;
}

interface Opened {
  readonly source: ConfigurationSource;
  readonly loaded: (number | undefined)[];
  readonly errors: string[];
}

async function open(path: string, options: Partial<SourceOptions> = {}): Promise<Opened> {
  const errors: string[] = [];
  const loaded: (number | undefined)[] = [];
  const source = await ConfigurationSource.open(path, {
    makeLimit,
    onLoad: ({ domains }) =>
      loaded.push(domains.get('d')?.match([{ key: 'k', value: 'v' }])?.rule.rateLimit?.requestsPerUnit),
    onError: ({ message }) => errors.push(message),
    ...options,
  });
  return { source: closing(source), loaded, errors };
}

/** A file of its own with one request a minute. */
async function openFile(options: Partial<SourceOptions> = {}): Promise<Opened & { readonly path: string }> {
  const path = join(await folder(), 'limits.yaml');
  await writeFile(path, file(1));
  return { path, ...(await open(path, options)) };
}

/** In one step, so that no content in between is ever read. */
async function replace(path: string, text: string | Uint8Array): Promise<void> {
  await writeFile(`${path}.next`, text);
  await rename(`${path}.next`, path);
}

async function relink(target: string, path: string): Promise<void> {
  await symlink(target, `${path}.next`);
  await rename(`${path}.next`, path);
}

const lastOf = ({ loaded }: Opened, requests: number): Promise<unknown> =>
  until(`a configuration of ${String(requests)} requests`, () => loaded.at(-1) === requests);

describe('a configuration in a file', () => {
  it('is loaded again after each write, rename over it, or touch, and not without', async () => {
    const found = await openFile();
    await writeFile(found.path, file(2));
    await lastOf(found, 2);
    await replace(found.path, file(3));
    await lastOf(found, 3);
    await writeFile(join(found.path, '..', 'other.yaml'), 'x');
    await utimes(found.path, 1, 1);
    await until('a load', () => found.loaded.length === 4);
    expect([found.loaded, found.errors]).toEqual([[1, 2, 3, 3], []]);
  });

  it('that cannot be used stays as it was, which is reported once, until it can be used', async () => {
    const found = await openFile();
    const { path, errors, source } = found;
    const before = source.current;
    for (const [damage, message] of [
      [() => unlink(path), /^cannot read the configuration .*limits\.yaml: ENOENT/],
      [
        () => replace(path, 'domain: d\ndescriptors: [{ keey: k }]\n'),
        /limits\.yaml:2:17: a descriptor has no field "keey"/,
      ],
      [() => replace(path, Buffer.from([0x64, 0x3a, 0xff])), /^cannot read the configuration .*not valid/],
      [() => truncate(path), /limits\.yaml:1:1: the file is empty/],
    ] as const) {
      await damage();
      await until(String(message), () => message.test(errors.at(-1) ?? ''));
    }
    expect([source.current === before, errors.length]).toEqual([true, 4]);
    await replace(path, file(2));
    await lastOf(found, 2);
  });

  it('goes to its listener before it is the current one, and stays as it was when that throws', async () => {
    let loads = 0;
    const onLoad = (): void => {
      if (loads++ > 0) throw new Error('not this one');
    };
    const { source, errors } = await openFile({ onLoad });
    const before = source.current;
    await source.reload();
    expect([source.current, errors]).toEqual([before, ['not this one']]);
  });

  it('is not loaded any more after close', async () => {
    const { source, loaded, path } = await openFile();
    source.close();
    await writeFile(path, file(2));
    await source.reload();
    expect(loaded).toEqual([1]);
  });
});

describe('the first configuration', () => {
  it('that cannot be used is an error', async () => {
    const inside = await folder();
    const path = join(inside, 'limits.yaml');
    await expect(open(path)).rejects.toThrow(`cannot read the configuration ${path}: ENOENT`);
    await expect(open(inside)).rejects.toThrow(
      `cannot read the configuration ${inside}: the folder has no file *.yaml or *.yml`,
    );
    await expect(open('/dev/null')).rejects.toThrow('/dev/null: it is neither a file nor a folder');
    await writeFile(path, 'domain: d\ndescriptors: [{}]\n');
    await expect(open(path)).rejects.toThrow(`${path}:2:15: a descriptor needs a non-empty key`);
  });
});

describe('a configuration in a folder', () => {
  it('is that of its files *.yaml and *.yml, by their names', async () => {
    const inside = await folder();
    await writeFile(join(inside, 'b.yml'), file(2, 'b'));
    await writeFile(join(inside, 'a.yaml'), file(1, 'a'));
    for (const name of ['notes.txt', '.hidden.yaml']) await writeFile(join(inside, name), 'x');
    await mkdir(join(inside, 'inner.yaml'));
    const { domains } = await loadConfiguration(inside, { makeLimit });
    expect([...domains.keys()]).toEqual(['a', 'b']);
  });

  it('is loaded again when files are added, changed and removed, as one', async () => {
    const inside = await folder();
    await writeFile(join(inside, 'a.yaml'), file(1, 'a'));
    const found = await open(inside);
    await writeFile(join(inside, 'd.yaml'), file(2));
    await lastOf(found, 2);
    await replace(join(inside, 'e.yaml'), file(1, 'a'));
    await until('an error', () => found.errors.length === 1);
    expect(found.errors[0]).toBe(
      `${join(inside, 'e.yaml')}:2:15: the descriptor "a.k" has been defined at ${join(inside, 'a.yaml')}:2; write it once`,
    );
    await unlink(join(inside, 'e.yaml'));
    await unlink(join(inside, 'a.yaml'));
    await until('one domain', () => found.source.current.domains.size === 1);
  });

  it('in a Kubernetes volume is loaded again when its folder of data is swapped, and the earlier one removed', async () => {
    const inside = await folder();
    const swap = async (version: number): Promise<void> => {
      await mkdir(join(inside, `..${String(version)}`));
      await writeFile(join(inside, `..${String(version)}`, 'limits.yaml'), file(version));
      await relink(`..${String(version)}`, join(inside, '..data'));
    };
    await swap(1);
    await symlink(join('..data', 'limits.yaml'), join(inside, 'limits.yaml'));
    const found = await open(inside);
    for (const version of [2, 3]) {
      await swap(version);
      await rm(join(inside, `..${String(version - 1)}`), { recursive: true });
      await lastOf(found, version);
    }
    expect(found.errors).toEqual([]);
  });
});

describe('a large configuration', () => {
  const rate = '{ unit: day, requests_per_unit: 5 }';
  const rules = Array.from({ length: 5_000 }, (_, i) => `  - { key: user, value: u${String(i)}, rate_limit: ${rate} }`);
  const large = `domain: shop\ndescriptors:\n${rules.join('\n')}\n`;

  it('is read in a thread of its own, beside other work', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, large);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const { domains } = await loadConfiguration(path, { makeLimit });
    clearInterval(timer);

    expect(domains.get('shop')?.match([{ key: 'user', value: 'u7' }])?.rule.limit).toBeDefined();
    expect(turns).toBeGreaterThan(20);
  });

  it('that is wrong is an error with every problem', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, `${large}  - { key: user, value: u1 }\n  - { kee: user }\n`);
    await expect(loadConfiguration(path, { makeLimit })).rejects.toMatchObject({
      name: 'ConfigurationError',
      problems: [
        {
          path,
          line: 5_003,
          column: 5,
          message: `the descriptor "shop.user_u1" has been defined at ${path}:4; write it once`,
        },
        { path, line: 5_004, column: 5, message: 'a descriptor needs a non-empty key' },
        { path, line: 5_004, column: 7, message: 'a descriptor has no field "kee"; did you mean key?' },
      ],
    });
  });
});
