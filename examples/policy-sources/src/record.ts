/** Text that is no JSON is still a record, of a policy that is unusable and can be put again. */
export function parseRecord(text: string): object {
  try {
    const record: unknown = JSON.parse(text);
    if (typeof record === 'object' && record !== null) return record;
  } catch {
    // Not what Sluice wrote.
  }
  return { unreadable: text };
}
