const parts = (names) => names.map((name) => `stores/redis/frame/${name}.lua`);

/** The scripts that decide: their parts, in the order in which they stand on each other, the kernels they know, and what they
 * need of those. */
export const SCRIPTS = {
  frame: {
    parts: parts([
      ...['clock', 'policy', 'failure', 'call', 'value'],
      ...['details', 'editions', 'decide', 'escalation', 'edits', 'frame'],
    ]),
    takes: () => true,
    needs: (kernel) => kernel,
  },
  runs: {
    parts: parts(['clock', 'policy', 'failure', 'runs']),
    // Long states have keys of their own: those are opened by the frame.
    takes: (kernel) => !/apart = true/.test(kernel),
    // A function that is not called costs what it takes to make it, at every call.
    needs: (kernel) => kernel.replace(/^function \w+\.(?!decide\b)\w+\(.*\n(?:(?!end$).*\n)*end\n/gm, ''),
  },
};
