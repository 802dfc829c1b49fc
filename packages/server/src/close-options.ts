export interface CloseOptions {
  /**
   * How long all is still served, new connections too, after health says NOT_SERVING: longer than the interval at which
   * gateways check health, so that they ask elsewhere before this one is gone. Default 0.
   */
  readonly delayMs?: number | undefined;
}
