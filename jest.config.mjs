import { existsSync, readdirSync } from 'node:fs';

const swc = (transform) => [
  `${import.meta.dirname}/scripts/test/jest-transform.mjs`,
  {
    swcrc: false,
    sourceMaps: 'inline',
    module: { type: 'es6' },
    jsc: { target: 'es2022', keepClassNames: true, parser: { syntax: 'typescript', decorators: true }, transform },
  },
];

/** A run of everything tests the packages as they are built; `npm test -- PATH` and `watch` need no build, and read the sources. */
const sources = process.env.SLUICE_BUILT ? [] : ['@sluice/source'];

/** `npm run real -- runtimes` tests on other runtimes than Node.js, which it installs. */
const runtimes = process.env.SLUICE_RUNTIMES ? [] : ['/test/runtimes/'];

/** `SLUICE_NEST=11` tests the adapter on that version of NestJS. */
const nest = process.env.SLUICE_NEST;
const onNest = nest && {
  moduleNameMapper: { '^(@nestjs/.*|reflect-metadata|rxjs)$': `<rootDir>/versions/${nest}/node_modules/$1` },
};

const projects = ['packages', 'examples', 'site']
  .flatMap((folder) => readdirSync(`${import.meta.dirname}/${folder}`).map((name) => `${folder}/${name}`))
  .filter((folder) => existsSync(`${import.meta.dirname}/${folder}/test`));

const project = (folder) => ({
  displayName: folder,
  rootDir: folder,
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: runtimes,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  testEnvironmentOptions: { customExportConditions: [...sources, 'node', 'node-addons'] },
  // Both forms of decorators are promised, so both are compiled: `*.legacy.ts` and `*.legacy.test.ts` as TypeScript's
  // experimentalDecorators.
  transform: {
    '\\.legacy(\\.test)?\\.ts$': swc({ legacyDecorator: true }),
    '\\.ts$': swc({ decoratorVersion: '2022-03' }),
  },
  ...(folder === 'packages/nestjs' && onNest),
});

export default {
  projects: projects.map(project),
  // A deep run takes twenty times as many cases.
  testTimeout: process.env.SLUICE_DEPTH === 'deep' ? 3_600_000 : 120_000,
  // Tests wait for servers, windows and processes for more than a third of their time: three at a time use two cores.
  maxWorkers: 3,
  reporters: ['default', `${import.meta.dirname}/scripts/test/left-out.mjs`],
  // Node does not free the modules of a test file that has ended: after a hundred files a worker mostly collects garbage.
  // A worker whose heap has grown to this size is replaced between two files.
  workerIdleMemoryLimit: '1GB',
  // A worker that nothing keeps ends at once, but on a busy machine its heap is not freed in the usual half second. One
  // that a handle keeps is still told of.
  workerGracefulExitTimeout: 5_000,
};
