import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { filesIn } from './read-project.ts';

/** A file beside the sources that says how the application runs. */
export interface DeploymentFile {
  readonly path: string;
  readonly text: string;
  /** The documents of YAML or JSON; empty for other files, and for those that cannot be read as such. */
  readonly documents: readonly unknown[];
}

const ENDINGS = ['.yaml', '.yml', '.json', '.conf', '.toml', '.cfg'];
const NAMES = new Set(['Procfile', 'Caddyfile']);
/** Longer files are data. */
const LONGEST = 200_000;

/** Files of settings in a folder: of containers, proxies, platforms and process managers. */
export async function readDeployment(folder: string): Promise<readonly DeploymentFile[]> {
  const files: DeploymentFile[] = [];
  for (const path of await filesIn(folder, isDeployment)) {
    const text = await readFile(join(folder, path), 'utf8');
    if (text.length <= LONGEST) files.push({ path, text, documents: documentsOf(path, text) });
  }
  return files;
}

function isDeployment(name: string): boolean {
  return NAMES.has(name) || ENDINGS.some((ending) => name.endsWith(ending));
}

function documentsOf(path: string, text: string): readonly unknown[] {
  if (!['.yaml', '.yml', '.json'].some((ending) => path.endsWith(ending))) return [];
  const parsed = parseAllDocuments(text);
  if (!Array.isArray(parsed)) return [];
  return parsed.filter(({ errors }) => errors.length === 0).flatMap((document) => valueOf(document) ?? []);
}

/** Undefined where aliases multiply beyond reason. */
function valueOf(document: { toJS(options: { maxAliasCount: number }): unknown }): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch {
    return undefined;
  }
}

/** The value at a path of members; undefined where there is none. */
export function memberAt(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[name] : undefined,
    value,
  );
}
