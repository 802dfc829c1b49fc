/** The demo cannot start as it was told to: its message is all that is printed. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
