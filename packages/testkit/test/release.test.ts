import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SCRIPTS = [
  'release/release',
  'release/version-packages',
  'release/pending-release',
  'release/changelog',
  'setup/pnpm',
];
/** What GitHub tells a job of the release workflow. */
const WORKFLOW = {
  GITHUB_ACTIONS: 'true',
  ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token.example',
  GITHUB_REF: 'refs/tags/v0.2.0',
  GITHUB_SERVER_URL: 'https://github.com',
  GITHUB_REPOSITORY: 'sluice-example/sluice',
};
const PUBLISH = 'publish TARBALL --provenance --access public --tag latest';

/** A repository with the scripts of a release and two packages, whose only changeset leads from 0.1.0 to 0.2.0. */
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-release-test-'));
  for (const script of SCRIPTS) cpSync(`${ROOT}/scripts/${script}.mjs`, join(folder, `scripts/${script}.mjs`));
  symlinkSync(`${ROOT}/node_modules`, join(folder, 'node_modules'));
  write('.gitignore', 'node_modules\n');
  write('.changeset/config.json', { ...config(), fixed: [['@sluice/core', '@sluice/koa']] });
  write('.changeset/one.md', "---\n'@sluice/core': minor\n---\n\n`peek` takes a cost:\nsee its page.\n");
  write(
    'CHANGELOG.md',
    '# Changelog\n\nNewest first.\n\n## Unreleased\n\n- By hand.\n\n## 0.1.0 - 2026-01-01\n\n- Old.\n',
  );
  write('package.json', { name: 'root', private: true, type: 'module', scripts: { check: 'node check.mjs' } });
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
  it('says of every published package what would be published, as the version that the changesets lead to', () => {
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
    makeVersion();

    expect(release([], { ...WORKFLOW, npm_config_dry_run: 'true' })).toMatchObject({ status: 0, published: [] });
  });

  it('names the line of a prerelease as its tag', () => {
    changeset('pre', 'enter', 'next');
    makeVersion();

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

  it('rejects a tree that its checks change', () => {
    write('check.mjs', "import { writeFileSync } from 'node:fs';\nwriteFileSync('report.md', '');\n");
    commit();

    expect(release(['--dry-run'])).toMatchObject({ status: 1, err: expect.stringContaining('?? report.md') });
  });

  it('rejects a tree whose checks fail', () => {
    write('check.mjs', 'process.exit(1);\n');
    commit();

    expect(release(['--dry-run'])).toMatchObject({ status: 1, err: '`npm run -s check` ended with 1.' });
  });

  it('rejects a version without a section of the changelog, which no changeset led to', () => {
    rmSync(join(folder, '.changeset/one.md'));
    write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n- By hand.\n');
    commit();

    expect(release(['--dry-run'])).toMatchObject({
      status: 1,
      err: 'A changeset is missing: CHANGELOG.md has no section for 0.1.0.',
    });
  });

  it('rejects commits after a release that have no changeset', () => {
    makeVersion();
    git('tag', 'v0.2.0');
    write('packages/core/dist/index.js', 'changed');
    commit();

    expect(release(['--dry-run'])).toMatchObject({
      status: 1,
      err: 'A changeset is missing: 0.2.0 is released, and nothing leads to the next version.',
    });
  });

  it('rejects versions that are out of step', () => {
    writePackage('koa', { version: '0.1.1' });
    commit();

    expect(release(['--dry-run'])).toMatchObject({
      status: 1,
      err: 'The versions are out of step: @sluice/core 0.1.0, @sluice/koa 0.1.1.',
    });
  });

  it('rejects a published package that changesets would leave out of step', () => {
    write('.changeset/config.json', { ...config(), fixed: [['@sluice/core']] });
    commit();

    expect(release(['--dry-run'])).toMatchObject({ status: 1, err: expect.stringContaining('differ in @sluice/koa.') });
  });

  it('rejects a package that pins another version of its sibling, or would be published without provenance', () => {
    writePackage('koa', { dependencies: { '@sluice/core': '0.0.9' }, publishConfig: {} });
    commit();

    expect(release(['--dry-run'])).toMatchObject({
      status: 1,
      err: expect.stringMatching(
        /koa lacks "provenance" in its "publishConfig"\.\n@sluice\/koa wants @sluice\/core 0\.0\.9 instead of \^0\.1\.0\.$/,
      ),
    });
  });
});

describe('npm run release', () => {
  it('rejects to publish outside of the release workflow', () => {
    makeVersion();

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
    makeVersion();

    expect(release([], { ...WORKFLOW, ...env })).toMatchObject({
      status: 1,
      published: [],
      err: expect.stringContaining(reason),
    });
  });

  it('rejects to publish while changesets wait for their version', () => {
    expect(release([], { ...WORKFLOW, GITHUB_REF: 'refs/tags/v0.1.0' })).toMatchObject({
      status: 1,
      published: [],
      err: 'Changesets lead to 0.2.0: run `npm run version-packages` first.',
    });
  });

  it('publishes each package with provenance in the release workflow, core first', () => {
    makeVersion();
    git('tag', 'v0.2.0');

    const { status, published } = release([], WORKFLOW);

    expect(status).toBe(0);
    expect(published).toEqual(
      ['sluice-core-0.2.0.tgz', 'sluice-koa-0.2.0.tgz'].map((file) => PUBLISH.replace('TARBALL', file)),
    );
  });

  it('leaves out what an earlier run has published', () => {
    makeVersion();

    const { status, published } = release([], { ...WORKFLOW, PUBLISHED: '@sluice/core@0.2.0' });

    expect(status).toBe(0);
    expect(published).toEqual([PUBLISH.replace('TARBALL', 'sluice-koa-0.2.0.tgz')]);
  });
});

describe('npm run version-packages', () => {
  it('raises all published packages, and no private one', () => {
    makeVersion();

    expect(['core', 'koa', 'kit'].map((name) => manifest(name)['version'])).toEqual(['0.2.0', '0.2.0', '0.0.0']);
  });

  it('moves the texts of the changesets, and lines that were written by hand, into a section of the changelog', () => {
    write('.changeset/two.md', "---\n'@sluice/koa': major\n---\n\n- Koa 1 is gone.\n- So is Koa 2.\n");

    makeVersion();

    const today = new Date().toISOString().slice(0, 10);
    expect(read('CHANGELOG.md')).toBe(`# Changelog

Newest first.

## 1.0.0 - ${today}

- Koa 1 is gone.
- So is Koa 2.
- \`peek\` takes a cost:
  see its page.
- By hand.

## 0.1.0 - 2026-01-01

- Old.
`);
    expect(release(['--notes']).out).toBe(
      '- Koa 1 is gone.\n- So is Koa 2.\n- `peek` takes a cost:\n  see its page.\n- By hand.',
    );
  });

  it('changes nothing without a changeset', () => {
    rmSync(join(folder, '.changeset/one.md'));
    commit();

    const { status, err } = script('version-packages');

    expect([status, err]).toEqual([1, 'No changeset raises the version: `npm run changeset` writes one.']);
    expect(git('status', '--porcelain')).toBe('');
  });
});

describe('the changesets of this workspace', () => {
  it('keep all published packages at one version', () => {
    const { fixed } = config();
    const { stdout } = spawnSync('git', ['ls-files', 'packages/*/package.json'], { cwd: ROOT, encoding: 'utf8' });
    const manifests = stdout
      .trim()
      .split('\n')
      .map((path) => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Record<string, unknown>);
    const published = manifests.filter((each) => each['private'] !== true);

    expect(fixed.flat().toSorted()).toEqual(published.map((each) => each['name']).toSorted());
    expect(new Set(published.map((each) => each['version'])).size).toBe(1);
  });
});

interface Ran {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

function script(name: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Ran {
  const own = Object.entries(process.env).filter(([key]) => !/^(GITHUB|ACTIONS|npm_config_dry_run)/.test(key));
  const { status, stdout, stderr } = spawnSync(process.execPath, [`scripts/release/${name}.mjs`, ...args], {
    cwd: folder,
    env: { ...Object.fromEntries(own), ...env },
    encoding: 'utf8',
  });
  return { status, out: stdout.trim(), err: stderr.trim() };
}

/** Runs with an npm that publishes nothing and keeps what it was asked to publish. */
function release(args: readonly string[], env: Readonly<Record<string, string>> = {}): Ran & { published: string[] } {
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
  const ran = script('release', args, { PUBLISHED: '', ...env, PATH: `${bin}:${String(process.env['PATH'])}` });
  const published = readFileSync(log, 'utf8').split('\n').filter(Boolean);
  rmSync(bin, { recursive: true });
  return { ...ran, published };
}

function makeVersion(): void {
  commit();
  expect(script('version-packages')).toMatchObject({ status: 0 });
  commit();
}

function config(): { fixed: string[][] } {
  return JSON.parse(readFileSync(join(ROOT, '.changeset/config.json'), 'utf8')) as { fixed: string[][] };
}

function changeset(...args: string[]): void {
  spawnSync(join(folder, 'node_modules/.bin/changeset'), args, { cwd: folder });
}

function git(...args: string[]): string {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@sluice.example'];
  return spawnSync('git', [...identity, ...args], { cwd: folder, encoding: 'utf8' }).stdout.trim();
}

function commit(): void {
  git('add', '--all');
  git('commit', '--quiet', '--message=test');
}

function read(path: string): string {
  return readFileSync(join(folder, path), 'utf8');
}

function manifest(name: string): Record<string, unknown> {
  return JSON.parse(read(`packages/${name}/package.json`)) as Record<string, unknown>;
}

function write(path: string, content: unknown): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content, null, 2));
}

function writePackage(name: string, more: Readonly<Record<string, unknown>>): void {
  write(`packages/${name}/package.json`, {
    name: `@sluice/${name}`,
    version: '0.1.0',
    license: 'MIT',
    files: ['dist'],
    publishConfig: { access: 'public', provenance: true },
    ...more,
  });
  write(`packages/${name}/README.md`, `# @sluice/${name}\n${'A line.\n'.repeat(100)}`);
  write(`packages/${name}/dist/index.js`, 'export {};\n');
}
