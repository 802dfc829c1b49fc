// Gives VitePress's search the names and roles that those who listen to the page need: what is seen is the name.

/** By component, what is replaced in its template. */
const REPLACED = {
  'VPNavBarSearchButton.vue': [
    [` :aria-label="translate('button.buttonAriaLabel')"`, ''],
    ['<span class="DocSearch-Button-Keys">', '<span class="DocSearch-Button-Keys" aria-hidden="true">'],
  ],
  'VPLocalSearchBox.vue': [
    [
      `role="button"
      :aria-owns="results?.length ? 'localsearch-list' : undefined"
      aria-expanded="true"
      aria-haspopup="listbox"`,
      'role="dialog"\n      aria-modal="true"',
    ],
    // The link is the option, not an item around it: an option holds nothing else that takes the focus.
    [
      `            :id="'localsearch-item-' + index"
            :aria-selected="selectedIndex === index ? 'true' : 'false'"
            role="option"
`,
      '            role="presentation"\n',
    ],
    [
      `:aria-label="[...p.titles, p.title].join(' > ')"\n`,
      `:id="'localsearch-item-' + index" :aria-selected="selectedIndex === index ? 'true' : 'false'" role="option"\n`,
    ],
    ['<kbd :aria-label', '<kbd role="img" :aria-label'],
    ['<span class="title-icon">', '<span class="title-icon" aria-hidden="true">'],
  ],
};

/** For Vite. Fails where a later VitePress has another template: look at it then, and at what axe-core says. */
export const namedSearch = () => ({
  name: 'named-search',
  enforce: 'pre',
  transform(code, id) {
    const replaced = REPLACED[id.split('/').at(-1)];
    if (replaced === undefined) return undefined;
    return replaced.reduce((text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`${id} has no ${from}`);
      return text.replaceAll(from, to);
    }, code);
  },
});
