import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { until } from '@sluice/testkit';
import { consume, get, useServe, type Serving } from './serving.ts';

const serving = useServe();

function limits(name: string): string {
  return `limits: { ${name}: { fixedWindow: { limit: 2, window: 1h } } }\n`;
}

async function untilKnown(one: Serving, name: string): Promise<void> {
  await until(`the limit ${name} is known`, () => consume(one, name));
}

describe('the file of limits', () => {
  it('is read again when it is written, and when another one is renamed over it', async () => {
    const path = serving.file(limits('first'));
    const one = await serving.serve(['--config', path]);
    await consume(one, 'first');
    writeFileSync(path, limits('second'));
    await untilKnown(one, 'second');
    renameSync(serving.file(limits('third'), 'next.yaml'), path);
    await untilKnown(one, 'third');

    await expect(consume(one, 'first')).rejects.toThrow('there is no limit named');
  });

  it('is read again when Kubernetes swaps the link to it', async () => {
    const { folder } = serving;
    const mount = (name: string): void => {
      mkdirSync(join(folder, `..data_${name}`));
      writeFileSync(join(folder, `..data_${name}`, 'limits.yaml'), limits(name));
      symlinkSync(`..data_${name}`, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    mount('first');
    symlinkSync('..data/limits.yaml', join(folder, 'limits.yaml'));
    const one = await serving.serve(['--config', join(folder, 'limits.yaml')]);
    await consume(one, 'first');
    mount('second');
    rmSync(join(folder, '..data_first'), { recursive: true });
    await untilKnown(one, 'second');
  });

  it('that is wrong changes nothing, and says where it is wrong', async () => {
    const path = serving.file(limits('first'));
    const one = await serving.serve(['--config', path]);
    writeFileSync(path, 'limits:\n  second: { fixedWindow: { limit: many, window: 1h } }\n');
    await until('it is told', () => one.printed.err.includes('the configuration stays as it was'));

    expect(one.printed.err).toContain(`${path}:2:`);
    expect(await consume(one, 'first')).toBe(true);
    expect((await get(one.addresses['admin'] ?? '', '/metrics')).body).toMatch(/config_load_error_total 1$/m);
    writeFileSync(path, limits('third'));
    await untilKnown(one, 'third');
    await until('it is told', () => one.printed.err.includes('a new configuration serves'));
  });
});
