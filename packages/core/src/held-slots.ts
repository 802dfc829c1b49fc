/** Slots that a request holds, taken by one decision. */
export interface HeldSlots {
  /** When the first of them expire, unless they are renewed. */
  ttlMs(): number;

  /**
   * Has them expire a `ttl` from now. Whether all of them were still held.
   *
   * @throws (rejects) StoreError when the store fails or is late.
   */
  renew(): Promise<boolean>;

  /**
   * Releases them. May be called once more where it failed.
   *
   * @throws (rejects) StoreError when the store fails or is late.
   */
  release(): Promise<void>;
}
