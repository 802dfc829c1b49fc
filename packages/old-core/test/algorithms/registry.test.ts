import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { algorithms, general } from '@sluice/old-core/spi';
import { references } from '../laws/models/index.ts';

const folderOf = (algorithm: string): URL =>
  new URL(
    `../../src/algorithms/${algorithm.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}/`,
    import.meta.url,
  );

describe('the registry of algorithms', () => {
  it('has as many algorithms as there are models', () => {
    expect(references.map(({ algorithm }) => algorithm).sort()).toEqual(algorithms.map(({ name }) => name).sort());
  });

  it('gives no letter to two layouts', () => {
    expect(new Set(algorithms.map(({ kind }) => kind)).size).toBe(algorithms.length);
  });

  it('is the only one that tells algorithms apart: no other room compares their names', () => {
    const name = algorithms.map((algorithm) => algorithm.name).join('|');
    const compared = new RegExp(`(?:case|[!=]==) '(?:${name})'|^ *'?(?:${name})'?:`, 'm');
    const compares = ['old-core', 'cli', 'express', 'fastify', 'koa', 'nestjs'].flatMap((packageName) => {
      const sources = new URL(`../../../${packageName}/src/`, import.meta.url);
      return readdirSync(sources, { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.ts') && !path.endsWith('.generated.ts') && !path.startsWith('algorithms/'))
        .filter((path) => compared.test(readFileSync(new URL(path, sources), 'utf8')))
        .map((path) => `${packageName}/src/${path}`);
    });

    expect(compares).toEqual([]);
  });
});

describe.each(algorithms.map(({ name, kind }) => ({ name, kind })))('the algorithm $name', ({ name, kind }) => {
  it('has vectors worked by hand', () => {
    expect(existsSync(new URL('vectors.json', folderOf(name)))).toBe(true);
  });

  it('has a twin in Lua, of the same kind, that is part of the script', () => {
    const twin = /^local (\w+) = \{ kind = "(\w)", arity = (\d+)(?:, external = true)? \}$/m.exec(
      readFileSync(new URL('kernel.lua', folderOf(name)), 'utf8'),
    );

    expect(twin?.[2]).toBe(kind);
    expect(general.source).toContain(`algorithms.${kind} = ${twin?.[1] ?? ''}`);
  });
});
