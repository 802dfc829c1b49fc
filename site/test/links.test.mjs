import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADDRESSES } from '../../scripts/build/packages.mjs';
import { linkOf, withLinksOfSite } from '../links.mjs';

const guide = { source: 'docs/guides/pacing.md', page: 'guides/pacing.md' };
const readme = { source: 'packages/express/README.md', page: 'packages/express.md' };

test('a link between documents leads to the page, with its anchor', () => {
  assert.equal(linkOf('waiting.md#run-a-function', guide), './waiting.md#run-a-function');
  assert.equal(linkOf('../reference/errors.md', guide), '../reference/errors.md');
  assert.equal(linkOf('#here', guide), '#here');
});

test('a link to a document outside of docs/ leads to its page', () => {
  assert.equal(linkOf('../../CONTRIBUTING.md', guide), '../contribute/contributing.md');
  assert.equal(linkOf('../../packages/express', guide), '../packages/express.md');
  assert.equal(linkOf('../README.md#guides', guide), '../documents.md#guides');
  assert.equal(linkOf('../adr', guide), '../adr/index.md');
});

test('a link to a file that is no page leads to the repository', () => {
  assert.equal(linkOf('../../scripts', guide), `${ADDRESSES.repository}/tree/main/scripts`);
  assert.equal(linkOf('../../LICENSE', guide), `${ADDRESSES.repository}/blob/main/LICENSE`);
});

test('a link to the repository, as packages have it, leads to the page', () => {
  const options = `${ADDRESSES.repository}/blob/main/docs/reference/options.md#headers`;

  assert.equal(linkOf(options, readme), '../reference/options.md#headers');
  assert.equal(linkOf(`${ADDRESSES.repository}/issues`, readme), `${ADDRESSES.repository}/issues`);
});

test('links in code stay as they are', () => {
  const text = 'a [page](waiting.md)\n\n```md\n[page](waiting.md)\n```\n\n`[page](waiting.md)`, [page](waiting.md)\n';

  assert.equal(
    withLinksOfSite(text, guide),
    'a [page](./waiting.md)\n\n```md\n[page](waiting.md)\n```\n\n`[page](waiting.md)`, [page](./waiting.md)\n',
  );
});
