// Written by scripts/build/manifests.mjs from the manifest at the root. Do not edit: edit that.
/** Where the documents are read, without a slash at the end. */
export const SITE = 'https://sluice.example';
