// CHANGELOG.md has a section for each version, newest first. This file reads and writes these sections.

/** Lines that were written by hand, for a version that has no number yet. */
const UNRELEASED = '## Unreleased';

/** The text of a version's section, without its heading; `undefined` if it has none. */
export function sectionOf(changelog, version) {
  const section = split(changelog).sections.find(({ heading }) => heading.split(' ')[1] === version);
  return section?.text;
}

/** The changelog with a section for this version: the changesets' texts, then what is under `## Unreleased`. */
export function withVersion(changelog, version, date, texts) {
  const { before, sections } = split(changelog);
  const unreleased = sections.filter(({ heading }) => heading === UNRELEASED).map(({ text }) => text);
  const lines = [...texts.map(asLine), ...unreleased].filter((text) => text !== '');
  const versions = [
    { heading: `## ${version} - ${date}`, text: lines.join('\n') },
    ...sections.filter(({ heading }) => heading !== UNRELEASED),
  ];
  return `${[before, ...versions.map(({ heading, text }) => `${heading}\n\n${text}`)].join('\n\n')}\n`;
}

function split(changelog) {
  const [before, ...rest] = changelog.split(/^(?=## )/m);
  const sections = rest.map((section) => {
    const [heading] = section.split('\n', 1);
    return { heading, text: section.slice(heading.length).trim() };
  });
  return { before: before.trim(), sections };
}

/** A text as an item of a list, unless it is a list. */
function asLine(text) {
  const trimmed = text.trim();
  return trimmed === '' || trimmed.startsWith('- ') ? trimmed : `- ${trimmed.replaceAll(/\n(?=[^\n])/g, '\n  ')}`;
}
