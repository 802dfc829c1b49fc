import { version } from '../version.ts';
import { EXPRESS_RATE_LIMIT } from './peers.ts';

interface Dependencies {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** The major version of a package that the manifest asks for, if it says one. */
export function majorOf(manifest: string, name: string): number | undefined {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(manifest) as Dependencies;
  const [major] = /\d+/.exec(dependencies[name] ?? devDependencies[name] ?? '') ?? [];
  return major === undefined ? undefined : Number(major);
}

/** The manifest with one more dependency, in the line before that of the package it replaces. */
export function withDependency(manifest: string, name: string): string {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(manifest) as Dependencies;
  if (name in dependencies || name in devDependencies) return manifest;
  const lines = manifest.split('\n');
  const at = lines.findIndex((line) => line.trimStart().startsWith(`"${EXPRESS_RATE_LIMIT}"`));
  if (at === -1) return manifest;
  const indent = (lines[at] as string).slice(
    0,
    (lines[at] as string).length - (lines[at] as string).trimStart().length,
  );
  return lines.toSpliced(at, 0, `${indent}"${name}": "^${version()}",`).join('\n');
}
