// Writes what each public entry point exports, with its types, to etc/*.api.md, so that a change of the surface shows
// in review. With --check it writes nothing, and fails when a report is stale.
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PACKAGES, nameOf } from './packages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
// The further entry points of an adapter are those of core.
const reports = Object.entries(PACKAGES).flatMap(([folder, { entries }]) =>
  Object.keys(entries)
    .map(nameOf)
    .filter((name) => folder === 'core' || name === 'index')
    .map((name) => ({ folder, name, report: name === 'index' ? folder : `${folder}-${name}` })),
);
const check = process.argv.includes('--check');
let stale = false;

for (const { folder, name, report } of reports) {
  const project = `${root}packages/${folder}`;
  const config = ExtractorConfig.prepare({
    packageJsonFullPath: `${project}/package.json`,
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: project,
      mainEntryPointFilePath: `${project}/dist/${name}.d.${existsSync(`${project}/dist/${name}.d.cts`) ? 'cts' : 'ts'}`,
      compiler: { tsconfigFilePath: `${project}/tsconfig.json` },
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
  const { apiReportChanged } = Extractor.invoke(config, {
    localBuild: !check,
    messageCallback: (message) => (message.handled = true),
  });
  if (apiReportChanged && check) {
    stale = true;
    console.error(`etc/${report}.api.md is stale: run \`npm run api\` and look at what changed.`);
  }
}
process.exit(stale ? 1 : 0);
