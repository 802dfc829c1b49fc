import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import js from '@eslint/js';
import { importX } from 'eslint-plugin-import-x';
import jest from 'eslint-plugin-jest';
import tsdoc from 'eslint-plugin-tsdoc';
import vue from 'eslint-plugin-vue';
import tseslint from 'typescript-eslint';

/** Libraries and paths that some files do not import. */
const arrows = (files, forbidden, why) => ({
  files,
  rules: { 'no-restricted-imports': ['error', { patterns: [{ group: forbidden, message: why }] }] },
});

const architecture = readFileSync(join(import.meta.dirname, 'ARCHITECTURE.md'), 'utf8');
/** The rows of the table of a section of ARCHITECTURE.md, as lists of the names in each cell. */
const tableOf = (heading) => {
  const section = architecture.split(`## ${heading}\n`)[1].split('\n## ')[0];
  return [...section.matchAll(/^\| (`.*)\|$/gm)].map(([, row]) =>
    row.split('|').map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name.replace(/\/$/, ''))),
  );
};
/** The rooms of a package from the ground up: none imports from a later floor. */
const floorsOf = Object.fromEntries([
  ...['core', 'server'].map((name) => [name, tableOf(`The rooms of packages/${name}/src`).map(([rooms]) => rooms)]),
  ...tableOf('The folders of other packages').map(([[name], folders]) => [name, folders.map((folder) => [folder])]),
]);
for (const name of ['core', 'server']) {
  const homeless = readdirSync(join(import.meta.dirname, 'packages', name, 'src')).filter(
    (room) => !floorsOf[name].flat().includes(room),
  );
  if (homeless.length > 0)
    throw new Error(`packages/${name}/src: ARCHITECTURE.md has no row for ${homeless.join(', ')}`);
}
const zones = Object.entries(floorsOf).flatMap(([name, floors]) =>
  floors.slice(0, -1).map((rooms, i) => ({
    target: rooms.map((room) => `packages/${name}/src/${room}`),
    from: floors.slice(i + 1).flatMap((later) => later.map((room) => `packages/${name}/src/${room}`)),
    message: 'It comes later in the table of ARCHITECTURE.md.',
  })),
);
/** A package imports those of its row in ARCHITECTURE.md, by their names. */
const packages = tableOf('Which package imports which').map(([[name], imported]) => ({
  files: [`packages/${name}/src/**/*.{ts,mjs}`],
  plugins: { '@typescript-eslint': tseslint.plugin },
  rules: {
    '@typescript-eslint/no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            group: ['@sluice/*', ...[name, ...imported].map((one) => `!@sluice/${one}`)],
            message: `The row of ${name} in ARCHITECTURE.md does not name it.`,
          },
          { group: ['../**/src/**'], message: 'Packages are imported by their names.' },
        ],
      },
    ],
  },
}));

export default tseslint.config(
  {
    ignores: ['**/dist/', '**/coverage/', '**/.cache/', '**/*.generated.ts', 'node_modules/'],
  },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    ignores: ['site/.vitepress/theme/**'],
    extends: [tseslint.configs.strict],
    plugins: { 'import-x': importX },
    rules: {
      'import-x/no-self-import': 'error',
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      // Express knows an error handler by its four parameters, used or not.
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      // Indices below a length are known to be there; `!` is not, so the assertion names the type.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      // Options are an interface of the type that is inferred from their shape: errors and editors then show its name.
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
    },
  },
  {
    // With types, where that has found something: in what is published. The compiler checks those of everything else.
    files: ['packages/*/src/**/*.ts'],
    extends: [tseslint.configs.strictTypeCheckedOnly],
    plugins: { tsdoc },
    languageOptions: {
      parserOptions: { project: 'scripts/check/tsconfig.lint.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      'tsdoc/syntax': 'error',
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      'import-x/no-restricted-paths': ['error', { basePath: import.meta.dirname, zones }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
      // There is no enum here, and classes that must not be confused have private fields: these two took a quarter of the time.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
    },
  },
  ...packages,
  arrows(['packages/core/src/program/**/*.ts'], ['node:*'], 'An algorithm knows no clock, socket or global.'),
  arrows(
    [
      'packages/core/src/*.ts',
      'packages/core/src/{values,policies,guard,limiter,http,managed,split}/**/*.ts',
      'packages/core/src/stores/*.ts',
      'packages/core/src/stores/redis/*.ts',
    ],
    ['ioredis', 'prom-client', '@opentelemetry/*', 'express', 'fastify', 'koa', '@nestjs/*', 'hono'],
    'Only stores/redis/clients/ knows a Redis library, observe/ what metrics go to, and adapters their framework.',
  ),
  arrows(['examples/**/*.ts'], ['**/packages/*/src/**'], 'Packages are imported by their names.'),
  {
    files: ['**/test/**/*.ts'],
    plugins: { jest },
    rules: {
      'jest/no-focused-tests': 'error',
      'jest/no-disabled-tests': 'error',
      'jest/no-identical-title': 'error',
      'jest/valid-expect': 'error',
      'jest/no-standalone-expect': 'off',
      '@typescript-eslint/no-empty-function': 'off',
    },
  },
  {
    // Components of the site. Their types are checked with the packages of the site, by vue-tsc: `npm run real -- site`.
    files: ['site/.vitepress/theme/**/*.{ts,vue}'],
    extends: [tseslint.configs.strict, tseslint.configs.stylistic, vue.configs['flat/essential']],
    languageOptions: { parserOptions: { parser: tseslint.parser } },
    rules: {
      'no-undef': 'off', // vue-tsc knows what is defined
      // The page has this name.
      'vue/multi-word-component-names': ['error', { ignores: ['Playground'] }],
      'vue/block-lang': ['error', { script: { lang: 'ts' } }],
      'vue/component-api-style': ['error', ['script-setup']],
      'vue/component-name-in-template-casing': 'error',
      'vue/define-macros-order': 'error',
      'vue/eqeqeq': 'error',
      'vue/no-undef-components': 'error',
      'vue/no-unused-emit-declarations': 'error',
      'vue/no-unused-properties': 'error',
      'vue/no-unused-refs': 'error',
      'vue/no-v-html': 'error',
      'vue/no-template-shadow': 'error',
      'vue/prefer-true-attribute-shorthand': 'error',
      'vue/require-explicit-emits': 'error',
      'vue/require-typed-ref': 'error',
    },
  },
  {
    files: ['packages/cli/page/*.js'],
    languageOptions: {
      sourceType: 'script',
      globals: { document: 'readonly', matchMedia: 'readonly', addEventListener: 'readonly' },
    },
  },
  {
    files: ['**/*.{mjs,cjs}'],
    languageOptions: {
      globals: Object.fromEntries(Object.getOwnPropertyNames(globalThis).map((name) => [name, 'readonly'])),
    },
  },
  {
    // What runs in a browser.
    files: ['site/test/**/*.mjs', 'packages/cli/scripts/*.mjs'],
    languageOptions: {
      globals: {
        document: 'readonly',
        window: 'readonly',
        innerHeight: 'readonly',
        scrollTo: 'readonly',
        requestAnimationFrame: 'readonly',
        getComputedStyle: 'readonly',
        PerformanceObserver: 'readonly',
      },
    },
  },
);
