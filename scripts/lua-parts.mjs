const parts = (names) => names.map((name) => `stores/redis/frame/${name}.lua`);

/** The scripts that decide: their parts, in the order in which they stand on each other, and the kinds of algorithms they know. */
export const SCRIPTS = {
  frame: {
    parts: parts([
      ...['clock', 'policy', 'failure', 'states', 'call', 'value'],
      ...['details', 'editions', 'decide', 'escalation', 'edits', 'frame'],
    ]),
    takes: () => true,
  },
  runs: {
    parts: parts(['clock', 'policy', 'failure', 'states', 'runs']),
    // Long states have keys of their own: those are opened by the frame.
    takes: (kernel) => !/apart = true/.test(kernel),
  },
};
