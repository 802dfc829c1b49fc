// A page for every code of an error or warning, from its section of docs/reference/errors.md: what a search for the
// code finds. The address that warnings print is the section's.
import { anchorOf } from './anchors.mjs';

/** The sections of docs/reference/errors.md: code, text, and the title of their group. */
export function codesIn(text) {
  return text.split(/^## /m).flatMap((part) => {
    const [group, ...sections] = part.split(/^### (?=SLUICE_)/m);
    return sections.map((section) => {
      const [code, ...lines] = section.split('\n');
      return { code, text: lines.join('\n').trim(), group: group.split('\n')[0].trim() };
    });
  });
}

/** The page of a code, as if it stood in the folder of errors.md. */
export const pageOfCode = ({ code, text, group }) => `---
search: false
editLink: false
prev: false
next: false
---

# ${code}

${text.replaceAll('](#', '](errors.md#')}

---

One of the codes under [${group.toLowerCase()}](errors.md#${anchorOf(group)}). [All errors and warnings](errors.md).
`;
