// Writes what each public entry point exports, with its types, to etc/*.api.md, so that a change of the surface shows
// in review. With --check it writes nothing, and fails when a report is stale.
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const entries = {
  core: ['core', 'index'],
  'core-http': ['core', 'http/index'],
  'core-inspect': ['core', 'inspect/index'],
  'core-metrics': ['core', 'observe/metrics'],
  'core-opentelemetry': ['core', 'observe/opentelemetry'],
  'core-remote': ['core', 'remote/index'],
  'core-service': ['core', 'service'],
  express: ['express', 'index'],
  fastify: ['fastify', 'index'],
  koa: ['koa', 'index'],
  nestjs: ['nestjs', 'index'],
  server: ['server', 'index'],
};
const check = process.argv.includes('--check');
let stale = false;

for (const [report, [folder, entry]] of Object.entries(entries)) {
  const project = `${root}packages/${folder}`;
  const config = ExtractorConfig.prepare({
    packageJsonFullPath: `${project}/package.json`,
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: project,
      mainEntryPointFilePath: `${project}/dist/esm/${entry}.d.ts`,
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
