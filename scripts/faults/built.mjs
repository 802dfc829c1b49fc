// The imports of the fault scripts: the built packages, and the development dependencies of those.
import { createRequire } from 'node:module';

/** A module of a built package, such as `core/dist/index.js`. */
export async function built(module) {
  try {
    return await import(new URL(`../../packages/${module}`, import.meta.url));
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    console.error('The packages have not been built: run `npm run build` first.');
    process.exit(2);
  }
}

/** A library in the copy that the code of a package uses. */
export function libraryOf(name, library) {
  return createRequire(new URL(`../../packages/${name}/package.json`, import.meta.url))(library);
}
