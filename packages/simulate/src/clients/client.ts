import { Holder } from './key-table.ts';

/** A key of `--key`: what the report calls a client. */
export class Client extends Holder {
  requests = 0;
  /** Requests denied, by candidate; undefined while there is none. */
  denied: number[] | undefined = undefined;
  /** By the window, requests by the level of their place in a window: for the slider of the HTML report. */
  levels: number[][] | undefined = undefined;
}
