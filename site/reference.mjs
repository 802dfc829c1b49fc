// Writes the API reference from the docstrings: a page for each class, interface and function, and one for each entry point, which lists them and has its types.
import { fileURLToPath } from 'node:url';
import { Application, Converter } from 'typedoc';
import { ADDRESSES, PACKAGES, nameOf } from '../scripts/build/packages.mjs';
import { API, ROOT } from './pages.mjs';

/** The folder of the reference, relative to the root of the site. */
export const REFERENCE = 'reference/api/';

/** The entry points that have pages. The further ones of an adapter are those of core. */
export const ENTRY_POINTS = Object.entries(PACKAGES).flatMap(([folder, { entries }]) =>
  Object.entries(entries)
    .filter(([path]) => folder === 'core' || path === '.')
    .map(([path, file]) => ({
      /** The specifier after `from`. */
      specifier: `@sluice/${folder}${path.slice(1)}`,
      /** The folder of its pages. */
      name: path === '.' ? folder : `${folder}-${nameOf(path)}`,
      source: `${ROOT}packages/${folder}/src/${file}`,
    })),
);

export async function writeReference() {
  const app = await Application.bootstrapWithPlugins({
    entryPoints: ENTRY_POINTS.map(({ source }) => source),
    tsconfig: fileURLToPath(new URL('tsconfig.reference.json', import.meta.url)),
    plugin: ['typedoc-plugin-markdown'],
    name: 'API reference',
    out: ROOT + API,
    readme: 'none',
    excludeInternal: true,
    excludePrivate: true,
    excludeExternals: true,
    skipErrorChecking: true,
    pageTitleTemplates: { member: ({ rawName }) => rawName.split('<')[0], module: ({ rawName }) => rawName },
    hideBreadcrumbs: true,
    hidePageHeader: true,
    entryFileName: 'index',
    excludeReferences: true,
    // Types and constants are on the page of their entry point: each page costs all others a name in VitePress's list.
    membersWithOwnFile: ['Class', 'Interface', 'Function', 'Enum'],
    useCodeBlocks: true,
    expandParameters: true,
    parametersFormat: 'table',
    typeDeclarationFormat: 'table',
    disableGit: true,
    basePath: ROOT,
    displayBasePath: ROOT,
    sourceLinkTemplate: `${ADDRESSES.repository}/blob/main/{path}#L{line}`,
    sort: ['source-order'],
    logLevel: 'Error',
    validation: false,
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children) module.name = specifierOf(module.sources[0].fullFileName);
  });
  const project = await app.convert();
  if (!project) throw new Error('TypeDoc found no project: see its messages above.');
  await app.generateOutputs(project);
}

const specifierOf = (file) => ENTRY_POINTS.find(({ source }) => source === file).specifier;
