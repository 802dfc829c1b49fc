/** The parts of the frame, in the order in which they stand on each other. */
export const FRAME = ['call', 'value', 'details', 'editions', 'decide', 'escalation', 'edits', 'frame'].map(
  (part) => `stores/redis/frame/${part}.lua`,
);
