// Writes what each public entry point exports, with its types, to etc/*.api.md, so that a change of the surface shows
// in review. With --check it writes nothing, and fails when a report is stale.
import { CompilerState, Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PACKAGES, nameOf } from '../build/packages.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const reports = Object.entries(PACKAGES).flatMap(([folder, { entries }]) =>
  Object.keys(entries)
    .map(nameOf)
    .map((name) => ({ folder, name, report: name === 'index' ? folder : `${folder}-${name}` })),
);
const check = process.argv.includes('--check');
let stale = false;

const entryOf = ({ folder, name }) => {
  const path = `${root}packages/${folder}/dist/${name}.d`;
  return existsSync(`${path}.cts`) ? `${path}.cts` : `${path}.ts`;
};
const configs = reports.map(({ folder, name, report }) => {
  const project = `${root}packages/${folder}`;
  return ExtractorConfig.prepare({
    packageJsonFullPath: `${project}/package.json`,
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: project,
      mainEntryPointFilePath: entryOf({ folder, name }),
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'es2022',
            lib: ['es2023'],
            module: 'nodenext',
            types: ['node'],
            skipLibCheck: true,
          },
          files: reports.map(entryOf),
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: `${report}.api.md`,
        reportFolder: `${root}etc`,
        reportTempFolder: `${root}node_modules/.cache/sluice`,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: 'none' } },
        extractorMessageReporting: { default: { logLevel: 'none' } },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
  });
});
// One program reads all declarations.
const compilerState = CompilerState.create(configs[0], {
  additionalEntryPoints: configs.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath),
});
for (const config of configs) {
  const { apiReportChanged } = Extractor.invoke(config, {
    compilerState,
    localBuild: !check,
    messageCallback: (message) => (message.handled = true),
  });
  if (apiReportChanged && check) {
    stale = true;
    console.error(`${config.reportFilePath} is stale: run \`npm run api\` and look at what changed.`);
  }
}
process.exit(stale ? 1 : 0);
