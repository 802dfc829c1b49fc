import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SCRIPTS = ['release/release', 'setup/pnpm'];
/** What GitHub tells a job of the release workflow. */
const WORKFLOW = {
  GITHUB_ACTIONS: 'true',
  ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token.example',
  GITHUB_REF: 'refs/tags/v0.2.0',
  GITHUB_SERVER_URL: 'https://github.com',
  GITHUB_REPOSITORY: 'sluice-example/sluice',
};
const PUBLISH = 'publish TARBALL --provenance --access public --tag latest';

/** A repository with the scripts of a release and two packages, of version 0.2.0. */
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-release-test-'));
  for (const script of SCRIPTS) cpSync(`${ROOT}/scripts/${script}.mjs`, join(folder, `scripts/${script}.mjs`));
  symlinkSync(`${ROOT}/node_modules`, join(folder, 'node_modules'));
  write('.gitignore', 'node_modules\n');
  write('CHANGELOG.md', '# Changelog\n\n## 0.2.0 - 2026-02-01\n\n- New.\n- Newer.\n\n## 0.1.0\n\n- Old.\n');
  write('package.json', {
    name: 'root',
    private: true,
    type: 'module',
    scripts: { build: 'true', check: 'node check.mjs' },
  });
  write('pnpm-workspace.yaml', 'packages: [packages/*]\npmOnFail: ignore\n');
  write('check.mjs', "console.log('checked');\n");
  write(
    'scripts/build/packages.mjs',
    "export const PACKAGES = { core: {}, koa: {} };\nexport const ADDRESSES = { repository: 'https://github.com/sluice-example/sluice' };\n",
  );
  writePackage('core', {});
  writePackage('koa', { dependencies: { '@sluice/core': 'workspace:^' } });
  writePackage('kit', { private: true, version: '0.0.0', dependencies: { '@sluice/core': 'workspace:*' } });
  mkdirSync(join(folder, 'packages/koa/node_modules/@sluice'), { recursive: true });
  symlinkSync('../../../core', join(folder, 'packages/koa/node_modules/@sluice/core'));
  git('init', '--quiet', '--initial-branch=main');
  commit();
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('npm run release -- --dry-run', () => {
  it('says of every published package what would be published', () => {
    const { status, out } = release(['--dry-run']);

    expect(out.split('\n').filter((line) => line.startsWith('@sluice/'))).toEqual([
      expect.stringMatching(/^@sluice\/core +0\.2\.0 +latest +3 +1 kB +yes$/),
      expect.stringMatching(/^@sluice\/koa +0\.2\.0 +latest +3 +1 kB +yes$/),
    ]);
    expect(out).toContain('checked');
    expect(out).toContain('Nothing was published.');
    expect(status).toBe(0);
  });

  it('publishes nothing, also in the release workflow and when npm has taken the option for its own', () => {
    expect(release([], { ...WORKFLOW, npm_config_dry_run: 'true' })).toMatchObject({ status: 0, published: [] });
  });

  it('names the line of a prerelease as its tag', () => {
    writePackage('core', { version: '0.2.0-next.0' });
    writePackage('koa', { version: '0.2.0-next.0', dependencies: { '@sluice/core': 'workspace:^' } });
    write('CHANGELOG.md', '# Changelog\n\n## 0.2.0-next.0\n\n- New.\n');
    commit();

    const { status, out } = release(['--dry-run']);

    expect(out).toMatch(/^@sluice\/koa +0\.2\.0-next\.0 +next /m);
    expect(status).toBe(0);
  });

  it('rejects a tree with changes that are not committed', () => {
    write('packages/core/dist/index.js', 'changed');

    expect(release(['--dry-run'])).toMatchObject({
      status: 1,
      err: 'The tree has changes that are not committed:\nM packages/core/dist/index.js',
    });
  });

  it.each<[string, () => unknown, RegExp]>([
    [
      'a tree that its checks change',
      () => write('check.mjs', "import { writeFileSync } from 'node:fs';\nwriteFileSync('report.md', '');\n"),
      /\?\? report\.md/,
    ],
    [
      'a tree whose checks fail',
      () => write('check.mjs', 'process.exit(1);\n'),
      /^`npm run -s check -- all` ended with 1\.$/,
    ],
    [
      'a version without a section of the changelog',
      () => write('CHANGELOG.md', '# Changelog\n\n## 0.1.0\n\n- Old.\n'),
      /^CHANGELOG\.md has no section for 0\.2\.0\.$/,
    ],
    [
      'a version that is released, from later commits',
      () => {
        git('tag', 'v0.2.0');
        write('packages/core/dist/index.js', 'changed');
      },
      /^0\.2\.0 is released: raise the version in package\.json, and run `node scripts\/build\/manifests\.mjs`\.$/,
    ],
    [
      'versions that are out of step',
      () => writePackage('koa', { version: '0.2.1' }),
      /^The versions are out of step: @sluice\/core 0\.2\.0, @sluice\/koa 0\.2\.1\.$/,
    ],
    [
      'a package that pins another version of its sibling, or would be published without provenance',
      () => writePackage('koa', { dependencies: { '@sluice/core': '0.0.9' }, publishConfig: {} }),
      /koa lacks "provenance" in its "publishConfig"\.\n@sluice\/koa wants @sluice\/core 0\.0\.9 instead of \^0\.2\.0\.$/,
    ],
  ])('rejects %s', (_what, change, reason) => {
    change();
    commit();

    expect(release(['--dry-run'])).toMatchObject({ status: 1, err: expect.stringMatching(reason) });
  });
});

describe('npm run release', () => {
  it('rejects to publish outside of the release workflow', () => {
    expect(release([])).toMatchObject({
      status: 1,
      published: [],
      err: 'Packages are published by the release workflow alone. Use `npm run release -- --dry-run` here.',
    });
  });

  it.each([
    ['without the permission for provenance', { ACTIONS_ID_TOKEN_REQUEST_URL: '' }, 'id-token: write'],
    ['for a branch', { GITHUB_REF: 'refs/heads/main' }, 'refs/heads/main'],
    ['for the tag of another version', { GITHUB_REF: 'refs/tags/v0.3.0' }, 'have version 0.2.0'],
    ['in a fork', { GITHUB_REPOSITORY: 'fork/sluice' }, 'https://github.com/fork/sluice'],
  ])('rejects to publish %s', (_, env, reason) => {
    expect(release([], { ...WORKFLOW, ...env })).toMatchObject({
      status: 1,
      published: [],
      err: expect.stringContaining(reason),
    });
  });

  it('publishes each package with provenance in the release workflow, core first', () => {
    git('tag', 'v0.2.0');

    const { status, published } = release([], WORKFLOW);

    expect(status).toBe(0);
    expect(published).toEqual(
      ['sluice-core-0.2.0.tgz', 'sluice-koa-0.2.0.tgz'].map((file) => PUBLISH.replace('TARBALL', file)),
    );
  });

  it('leaves out what an earlier run has published', () => {
    const { status, published } = release([], { ...WORKFLOW, PUBLISHED: '@sluice/core@0.2.0' });

    expect(status).toBe(0);
    expect(published).toEqual([PUBLISH.replace('TARBALL', 'sluice-koa-0.2.0.tgz')]);
  });
});

describe('npm run release -- --notes', () => {
  it('prints the section of the version in the changelog', () => {
    expect(release(['--notes']).out).toBe('- New.\n- Newer.');
  });
});

interface Ran {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
  readonly published: readonly string[];
}

/** Runs with an npm that publishes nothing and keeps what it was asked to publish. */
function release(args: readonly string[], env: Readonly<Record<string, string>> = {}): Ran {
  const bin = mkdtempSync(join(tmpdir(), 'sluice-npm-'));
  const log = join(bin, 'published');
  writeFileSync(log, '');
  writeFileSync(
    join(bin, 'npm'),
    `#!/bin/sh
case "$1" in
  publish) shift; file=$(basename "$1"); shift; echo "publish $file $*" >> '${log}' ;;
  view) [ "$2" = "$PUBLISHED" ] && echo "\${2##*@}" ;;
  *) PATH="\${PATH#*:}" exec npm "$@" ;;
esac
`,
  );
  chmodSync(join(bin, 'npm'), 0o755);
  const own = Object.entries(process.env).filter(([key]) => !/^(GITHUB|ACTIONS|npm_config_dry_run)/.test(key));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release/release.mjs', ...args], {
    cwd: folder,
    env: { ...Object.fromEntries(own), PUBLISHED: '', ...env, PATH: `${bin}:${String(process.env['PATH'])}` },
    encoding: 'utf8',
  });
  const published = readFileSync(log, 'utf8').split('\n').filter(Boolean);
  rmSync(bin, { recursive: true });
  return { status, out: stdout.trim(), err: stderr.trim(), published };
}

function git(...args: string[]): string {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@sluice.example'];
  return spawnSync('git', [...identity, ...args], { cwd: folder, encoding: 'utf8' }).stdout.trim();
}

function commit(): void {
  git('add', '--all');
  git('commit', '--quiet', '--message=test');
}

function write(path: string, content: unknown): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content, null, 2));
}

function writePackage(name: string, more: Readonly<Record<string, unknown>>): void {
  write(`packages/${name}/package.json`, {
    name: `@sluice/${name}`,
    version: '0.2.0',
    license: 'MIT',
    files: ['dist'],
    publishConfig: { access: 'public', provenance: true },
    ...more,
  });
  write(`packages/${name}/README.md`, `# @sluice/${name}\n${'A line.\n'.repeat(100)}`);
  write(`packages/${name}/dist/index.js`, 'export {};\n');
}
