import js from '@eslint/js';
import { importX } from 'eslint-plugin-import-x';
import jest from 'eslint-plugin-jest';
import tsdoc from 'eslint-plugin-tsdoc';
import vue from 'eslint-plugin-vue';
import tseslint from 'typescript-eslint';

/** Libraries and paths that some files do not import. The arrows of rooms and packages are checked by scripts/check/arrows.mjs. */
const arrows = (files, forbidden, why) => ({
  files,
  rules: { 'no-restricted-imports': ['error', { patterns: [{ group: forbidden, message: why }] }] },
});

export default tseslint.config(
  {
    ignores: ['**/dist/', '**/coverage/', '**/.cache/', '**/*.generated.ts', 'node_modules/'],
  },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    ignores: ['site/.vitepress/theme/**'],
    extends: [tseslint.configs.strictTypeChecked],
    plugins: { 'import-x': importX, tsdoc },
    languageOptions: {
      parserOptions: {
        // One program of everything; TypeScript's own decorators are another.
        project: [
          'tsconfig.json',
          'packages/nestjs/tsconfig.legacy-decorators.json',
          'packages/page/app/tsconfig.json',
        ],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      'import-x/no-self-import': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      // Express knows an error handler by its four parameters, used or not.
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      // Indices below a length are known to be there; `!` is not, so the assertion names the type.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      // Options are an interface of the type that is inferred from their shape: errors and editors then show its name.
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
      // There is no enum here, and classes that must not be confused have private fields: these two took a quarter of the time.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
    },
  },
  {
    // The compiler checks their types. A program with the types of other versions of the same libraries takes longer than their lint.
    files: ['examples/{graphql,hono,mcp}/**/*.ts', 'packages/{compat,web}/test/peers/**/*.ts'],
    extends: [tseslint.configs.disableTypeChecked],
  },
  { files: ['packages/*/src/**/*.ts'], rules: { 'tsdoc/syntax': 'error' } },
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
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
    },
  },
  {
    // Components of the site. Their types are checked with the packages of the site, by vue-tsc: `npm run matrix -- site`.
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
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        performance: 'readonly',
        setImmediate: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        Buffer: 'readonly',
        fetch: 'readonly',
        Response: 'readonly',
      },
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
