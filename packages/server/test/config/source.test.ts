import { afterEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rename, rm, symlink, truncate, unlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@sluice/testkit';
import { ConfigurationSource, type SourceOptions } from '../../src/config/configuration-source.ts';
import { loadConfiguration } from '../../src/config/configuration-files.ts';
import { makeLimit } from './reading.ts';

const file = (requests: number, domain = 'd'): string =>
  `domain: ${domain}\ndescriptors: [{ key: k, rate_limit: { unit: minute, requests_per_unit: ${String(requests)} } }]\n`;

const opened: ConfigurationSource[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const source of opened.splice(0)) source.close();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'sluice-config-'));
  folders.push(made);
  return made;
}

interface Opened {
  readonly source: ConfigurationSource;
  readonly errors: Error[];
}

/** Watches alone: nothing is read by time. */
async function open(path: string, options: Partial<SourceOptions> = {}): Promise<Opened> {
  const errors: Error[] = [];
  const source = await ConfigurationSource.open(path, {
    makeLimit,
    pollMs: 0,
    onError: (error) => errors.push(error),
    ...options,
  });
  opened.push(source);
  return { source, errors };
}

/** In one step, so that no content in between is ever read. */
async function replace(path: string, text: string | Uint8Array): Promise<void> {
  await writeFile(`${path}.next`, text);
  await rename(`${path}.next`, path);
}

function requestsOf(source: ConfigurationSource, domain = 'd'): number | undefined {
  return source.current.domains.get(domain)?.match([{ key: 'k', value: 'v' }])?.rule.rateLimit?.requestsPerUnit;
}

async function untilRequests(source: ConfigurationSource, requests: number, domain?: string): Promise<void> {
  await until(`a configuration of ${String(requests)} requests`, () => requestsOf(source, domain) === requests);
}

describe('a configuration in a file', () => {
  it('is read again after a write', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, file(1));
    const { source } = await open(path);
    expect([requestsOf(source), source.loads]).toEqual([1, 1]);

    await writeFile(path, file(2));

    await untilRequests(source, 2);
  });

  it('is read again after each rename over it', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, file(1));
    const { source } = await open(path);

    for (const requests of [2, 3, 4]) {
      await replace(path, file(requests));
      await untilRequests(source, requests);
    }
  });

  it('is not read again by a write of another file beside it, or by the same content', async () => {
    const inside = await folder();
    const path = join(inside, 'limits.yaml');
    await writeFile(path, file(1));
    const { source } = await open(path);

    await writeFile(join(inside, 'other.txt'), 'x');
    await writeFile(path, file(1));
    await utimes(path, 1, 1);
    await source.check();
    await writeFile(path, file(2));
    await untilRequests(source, 2);

    expect(source.loads).toBe(2);
  });

  it('behind a symbolic link is read again when the link is swapped, and after a write of its target', async () => {
    const inside = await folder();
    const elsewhere = await folder();
    const path = join(inside, 'limits.yaml');
    await writeFile(join(elsewhere, 'a.yaml'), file(1));
    await writeFile(join(elsewhere, 'b.yaml'), file(2));
    await symlink(join(elsewhere, 'a.yaml'), path);
    const { source } = await open(path);
    expect(requestsOf(source)).toBe(1);

    await symlink(join(elsewhere, 'b.yaml'), join(inside, 'next'));
    await rename(join(inside, 'next'), path);
    await untilRequests(source, 2);
    await writeFile(join(elsewhere, 'b.yaml'), file(3));
    await untilRequests(source, 3);
  });

  it('below a folder that is a symbolic link is read again when that is swapped', async () => {
    const inside = await folder();
    for (const [name, requests] of [
      ['v1', 1],
      ['v2', 2],
      ['v3', 3],
    ] as const) {
      await mkdir(join(inside, name, 'config'), { recursive: true });
      await writeFile(join(inside, name, 'config', 'limits.yaml'), file(requests));
    }
    await symlink('v1', join(inside, 'current'));
    const { source } = await open(join(inside, 'current', 'config', 'limits.yaml'));

    for (const [name, requests] of [
      ['v2', 2],
      ['v3', 3],
    ] as const) {
      await symlink(name, join(inside, 'next'));
      await rename(join(inside, 'next'), join(inside, 'current'));
      await untilRequests(source, requests);
    }
    await writeFile(join(inside, 'v3', 'config', 'limits.yaml'), file(4));
    await untilRequests(source, 4);
  });

  it('in a Kubernetes volume is read again when its folder of data is swapped and the earlier one removed', async () => {
    const inside = await folder();
    const version = async (name: string, requests: number): Promise<void> => {
      await mkdir(join(inside, name));
      await writeFile(join(inside, name, 'limits.yaml'), file(requests));
      await symlink(name, join(inside, '..data_tmp'));
      await rename(join(inside, '..data_tmp'), join(inside, '..data'));
    };
    await version('..2026_01', 1);
    await symlink(join('..data', 'limits.yaml'), join(inside, 'limits.yaml'));
    const { source, errors } = await open(join(inside, 'limits.yaml'));

    for (const [name, before, requests] of [
      ['..2026_02', '..2026_01', 2],
      ['..2026_03', '..2026_02', 3],
    ] as const) {
      await version(name, requests);
      await rm(join(inside, before), { recursive: true });
      await untilRequests(source, requests);
    }
    expect(errors).toEqual([]);
  });

  it('in a folder that is replaced as a whole is read again', async () => {
    const inside = await folder();
    await mkdir(join(inside, 'config'));
    await writeFile(join(inside, 'config', 'limits.yaml'), file(1));
    const { source } = await open(join(inside, 'config', 'limits.yaml'));

    await rename(join(inside, 'config'), join(inside, 'old'));
    await mkdir(join(inside, 'config'));
    await writeFile(join(inside, 'config', 'limits.yaml'), file(2));
    await untilRequests(source, 2);
    await writeFile(join(inside, 'config', 'limits.yaml'), file(3));
    await untilRequests(source, 3);
  });

  it('that is deleted stays as it was, and is read when it returns', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, file(1));
    const { source, errors } = await open(path);

    await unlink(path);
    await until('the error', () => errors.length === 1);
    await source.check();
    await source.check();
    expect([requestsOf(source), errors.length, source.errors]).toEqual([1, 1, 1]);
    expect(errors[0]?.message).toMatch(/^cannot read the configuration .*limits\.yaml: ENOENT/);

    await writeFile(path, file(2));
    await untilRequests(source, 2);
  });

  it('that is wrong stays as it was, says where it is wrong, once, and is read when it is right', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, file(1));
    const { source, errors } = await open(path);

    await replace(path, 'domain: d\ndescriptors: [{ keey: k }]\n');
    await until('the error', () => errors.length === 1);
    await source.check();
    expect([requestsOf(source), errors.length, source.errors, source.loads]).toEqual([1, 1, 1, 1]);
    expect(errors[0]?.message).toBe(
      `${path}:2:15: a descriptor needs a key that is not empty\n${path}:2:17: a descriptor has no field "keey"; did you mean key?`,
    );

    await replace(path, file(2));
    await untilRequests(source, 2);
    expect([source.errors, source.loads]).toEqual([1, 2]);
  });

  it('that is not UTF-8 stays as it was', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, file(1));
    const { source, errors } = await open(path);

    await replace(path, Buffer.from([0x64, 0x3a, 0xff]));
    await until('the error', () => errors.length === 1);

    expect([requestsOf(source), errors[0]?.message]).toEqual([
      1,
      expect.stringContaining('cannot read the configuration'),
    ]);
  });

  it('that is emptied stays as it was', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, file(1));
    const { source, errors } = await open(path);

    await truncate(path);
    await until('the error', () => errors.length === 1);

    expect(requestsOf(source)).toBe(1);
  });

  it('goes to its listener before it is the current one, and stays as it was when that throws', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, file(1));
    const heard: number[] = [];
    const { source, errors } = await open(path, {
      onLoad: ({ domains }) => {
        const requests = domains.get('d')?.match([{ key: 'k', value: 'v' }])?.rule.rateLimit?.requestsPerUnit ?? 0;
        if (requests === 2) throw new Error('not this one');
        heard.push(requests);
      },
    });

    await replace(path, file(2));
    await until('the error', () => errors.length === 1);
    expect([requestsOf(source), errors[0]?.message]).toEqual([1, 'not this one']);
    await replace(path, file(3));
    await untilRequests(source, 3);

    expect(heard).toEqual([1, 3]);
  });

  it('is read by time where the file system tells of no changes', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, file(1));
    const { source } = await open(path, { watch: false, pollMs: 5 });

    await writeFile(path, file(2));

    await untilRequests(source, 2);
  });

  it('is not read any more after close', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, file(1));
    const { source } = await open(path, { pollMs: 5 });
    const { source: other } = await open(path);

    source.close();
    const { loads } = source; // more than one where the system told late that the file had been written
    await writeFile(path, file(2));
    await source.check();
    await untilRequests(other, 2);

    expect([requestsOf(source), source.loads]).toEqual([1, loads]);
  });
});

describe('the first configuration', () => {
  it('that is wrong is an error', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, 'domain: d\ndescriptors: [{}]\n');

    await expect(open(path)).rejects.toThrow(`${path}:2:15: a descriptor needs a key that is not empty`);
  });

  it('that is missing is an error', async () => {
    const path = join(await folder(), 'none', 'limits.yaml');

    await expect(open(path)).rejects.toThrow(`cannot read the configuration ${path}: ENOENT`);
  });

  it('that its listener throws for is that error', async () => {
    const path = join(await folder(), 'limits.yaml');
    await writeFile(path, file(1));
    const onLoad = (): never => {
      throw new Error('not this one');
    };

    await expect(open(path, { onLoad })).rejects.toThrow('not this one');
  });

  it('that is neither a file nor a folder is an error', async () => {
    await expect(open('/dev/null')).rejects.toThrow(
      'cannot read the configuration /dev/null: it is neither a file nor a folder',
    );
  });
});

describe('a configuration in a folder', () => {
  it('is that of its files *.yaml and *.yml, by their names', async () => {
    const inside = await folder();
    await writeFile(join(inside, 'b.yml'), file(2, 'b'));
    await writeFile(join(inside, 'a.yaml'), file(1, 'a'));
    await writeFile(join(inside, 'notes.txt'), 'x');
    await writeFile(join(inside, '.hidden.yaml'), 'x');
    await mkdir(join(inside, 'inner.yaml'));

    const { domains } = await loadConfiguration(inside, { makeLimit });

    expect([...domains.keys()]).toEqual(['a', 'b']);
  });

  it('without such files is an error', async () => {
    const inside = await folder();

    await expect(loadConfiguration(inside, { makeLimit })).rejects.toThrow(
      `cannot read the configuration ${inside}: the folder has no file *.yaml or *.yml`,
    );
  });

  it('is read again when files are added, changed and removed', async () => {
    const inside = await folder();
    await writeFile(join(inside, 'a.yaml'), file(1, 'a'));
    const { source } = await open(inside);

    await writeFile(join(inside, 'b.yaml'), file(2, 'b'));
    await untilRequests(source, 2, 'b');
    await writeFile(join(inside, 'a.yaml'), file(3, 'a'));
    await untilRequests(source, 3, 'a');
    await unlink(join(inside, 'b.yaml'));
    await until('one domain', () => source.current.domains.size === 1);
  });

  it('in a Kubernetes volume is read again when its folder of data is swapped', async () => {
    const inside = await folder();
    for (const [name, requests] of [
      ['..1', 1],
      ['..2', 2],
    ] as const) {
      await mkdir(join(inside, name));
      await writeFile(join(inside, name, 'a.yaml'), file(requests, 'a'));
      await writeFile(join(inside, name, 'b.yaml'), file(requests, 'b'));
    }
    await symlink('..1', join(inside, '..data'));
    for (const name of ['a.yaml', 'b.yaml']) await symlink(join('..data', name), join(inside, name));
    const { source } = await open(inside);

    await symlink('..2', join(inside, '..data_tmp'));
    await rename(join(inside, '..data_tmp'), join(inside, '..data'));

    await untilRequests(source, 2, 'a');
    await untilRequests(source, 2, 'b');
  });

  it('names the file of each problem', async () => {
    const inside = await folder();
    await writeFile(join(inside, 'a.yaml'), file(1, 'a'));
    const { source, errors } = await open(inside);

    await replace(join(inside, 'b.yaml'), file(1, 'a'));
    await until('the error', () => errors.length === 1);

    expect(errors[0]?.message).toBe(
      `${join(inside, 'b.yaml')}:1:9: the domain "a" has been defined at ${join(inside, 'a.yaml')}:1; write its rules in one place`,
    );
    expect(source.current.domains.size).toBe(1);
  });
});
