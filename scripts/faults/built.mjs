// What the fault scripts stand on: the built packages, and the libraries that these are developed with.
import { createRequire } from 'node:module';

/** A module of a built package, such as `core/dist/esm/index.js`. */
export async function built(module) {
  try {
    return await import(new URL(`../../packages/${module}`, import.meta.url));
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    console.error('The packages have not been built: run `npm run build` first.');
    process.exit(2);
  }
}

/** A library as a package sees it: the copy that its code uses. */
export function libraryOf(name, library) {
  return createRequire(new URL(`../../packages/${name}/package.json`, import.meta.url))(library);
}
