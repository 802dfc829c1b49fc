// How VitePress makes the site of the repository's documents.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { ADDRESSES } from '../../scripts/build/packages.mjs';
import { anchorOf } from '../anchors.mjs';
import { sidebars } from '../navigation.mjs';
import { API, ROOT, linkOf, pageOf } from '../pages.mjs';

const description = 'Rate limiting for Node.js that holds across processes, exact to the unit and the millisecond.';

export default defineConfig({
  srcDir: '..',
  // Documents that are no pages.
  srcExclude: [
    ...['{README,AGENTS}.md', 'site/README.md', 'examples/*/**/*.md'],
    ...['packages/*/*/**/*.md', 'packages/*/SKILL.md', 'packages/benchmarks/*.md'],
  ],
  rewrites: (source) => pageOf(source),
  cacheDir: '.cache/vite',
  outDir: 'dist',
  title: 'Sluice',
  description,
  lang: 'en',
  cleanUrls: true,
  metaChunk: true,
  lastUpdated: false,
  // Prefetching what a page links to would load most of the site from its first page.
  router: { prefetchLinks: false },
  sitemap: { hostname: ADDRESSES.site },
  head: [
    ['link', { rel: 'icon', href: '/icon.svg', type: 'image/svg+xml' }],
    ['meta', { name: 'theme-color', content: '#0969da' }],
  ],
  // The playground is bundled from the sources of the packages.
  vite: {
    plugins: [{ name: 'from-root', enforce: 'post', config: findFromRoot }],
    publicDir: fileURLToPath(new URL('../public', import.meta.url)),
    resolve: { conditions: ['@sluice/source'] },
    // Clients of Redis, which only a store in Redis loads: the playground counts in memory.
    build: { rollupOptions: { external: ['ioredis', 'redis'] } },
  },
  markdown: {
    anchor: { slugify: anchorOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    codeTransformers: [{ line: wrapCommands }],
    config(md) {
      leadLinks(md);
      framePictures(md);
      makeTablesReadable(md);
      breakCodes(md);
    },
  },
  themeConfig: {
    siteTitle: 'Sluice',
    logo: '/icon.svg',
    nav: [
      { text: 'Start', link: '/#start', activeMatch: '^/packages/(core|express|fastify|koa|nestjs|web)' },
      { text: 'Guides', link: '/documents#guides', activeMatch: '^/(guides/|documents)' },
      { text: 'Reference', link: '/reference/options', activeMatch: '^/(reference/|benchmarks)' },
      { text: 'Playground', link: '/playground' },
      { text: 'Contribute', link: '/contribute/', activeMatch: '^/(contribute|adr)/' },
    ],
    sidebar: sidebars(),
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        detailedView: false,
        miniSearch: {
          options: { tokenize: wordsOf, processTerm: dropCommonWord },
          searchOptions: { boost: { title: 4, titles: 1.5, text: 1 }, boostDocument },
        },
      },
    },
    socialLinks: [{ icon: 'github', link: ADDRESSES.repository, ariaLabel: 'The repository' }],
    editLink: {
      pattern: `${ADDRESSES.repository}/edit/main/:path`,
      text: 'Edit this page',
    },
    footer: { message: 'MIT licensed' },
  },
  transformPageData(page) {
    if (page.filePath.startsWith(API)) page.frontmatter.editLink = false;
  },
});

/** VitePress looks for its own dependencies where the documents are: at the root, which has none of them. */
function findFromRoot({ optimizeDeps }) {
  optimizeDeps.include = optimizeDeps.include.map((name) => name.replace(/^vitepress/, '../site > vitepress'));
}

/** The file of a document, also while its page has another name. */
const fileOf = ({ path, realPath = path }) => realPath;

/** Makes the links work on the site. */
function leadLinks(md) {
  const render = md.renderer.rules.link_open;
  md.renderer.rules.link_open = (tokens, i, options, env, self) => {
    tokens[i].attrSet('href', linkOf(tokens[i].attrGet('href'), relative(ROOT, fileOf(env))));
    return render(tokens, i, options, env, self);
  };
}

/** Gives every picture its size, so that nothing moves when it arrives, and a frame that scrolls on a phone. */
function framePictures(md) {
  const render = md.renderer.rules.image;
  md.renderer.rules.image = (tokens, i, options, env, self) => {
    const source = tokens[i].attrGet('src');
    if (!source.endsWith('.svg') || /^[a-z]+:/.test(source)) return render(tokens, i, options, env, self);
    const picture = readFileSync(join(fileOf(env), '..', source), 'utf8');
    const [, width, height] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(picture);
    tokens[i].attrSet('width', width);
    tokens[i].attrSet('height', height);
    return `<span class="frame" tabindex="0">${render(tokens, i, options, env, self)}</span>`;
  };
}

/** A wide table scrolls, by keyboard too; a heading without a word is no heading. */
function makeTablesReadable(md) {
  md.renderer.rules.table_open = () => '<table tabindex="0">\n';
  md.core.ruler.push('empty-headings', ({ tokens }) => {
    tokens.forEach((token, i) => {
      if (token.type !== 'th_open' || tokens[i + 1].content.trim() !== '') return;
      for (const tag of [token, tokens[i + 2]]) tag.tag = 'td';
    });
  });
}

/** Commands and JSON wrap on the site, as they do in a terminal. Runs in Shiki, for each line. */
function wrapCommands(line) {
  const text = line.children.map(({ children: [{ value }] }) => value).join('');
  const { lang } = this.options;
  if (lang === 'sh' || (lang === 'console' && /^[${]/.test(text))) this.addClassToHast(line, 'wraps');
}

/** The code of an error breaks between its words where it does not fit. */
function breakCodes(md) {
  const render = md.renderer.rules.text;
  md.renderer.rules.text = (...args) =>
    render(...args).replace(/\bSLUICE_[A-Z_]+/g, (code) => code.replaceAll('_', '_<wbr>'));
}

/**
 * Words, and compounds such as `max-clients` as a whole too: its words alone are in many sections. Runs in the browser.
 */
function wordsOf(text) {
  const compounds = text.match(/[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)+/gu) ?? [];
  return [...text.split(/[\n\r\p{Z}\p{P}]+/u), ...compounds];
}

/** Leaves out the words of a question that are on every page: `how do I` finds nothing. Runs in the browser. */
function dropCommonWord(term) {
  const common =
    /^(?:an?|all|am|and|are|at|be|by|can|do|does|for|from|have|how|i|if|in|instead|is|it|its|my|no|not|of|on|one|only|or|should|so|that|the|them|then|there|they|this|to|use|we|what|when|which|who|why|will|with|without|you|your)$/i;
  return common.test(term) ? null : term.toLowerCase();
}

/** What explains comes before what lists: a name of the API is found by its exact spelling. Runs in the browser. */
function boostDocument(id) {
  if (/^\/(?:reference\/api|design-notes)\b/.test(id)) return 0.4;
  if (/^\/(?:guides\/which-policy|reference\/policies)\b/.test(id)) return 1.5;
  return /^\/(?:adr|benchmarks|changelog|contribute|security)\b/.test(id) ? 0.6 : 1;
}
