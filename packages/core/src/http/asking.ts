import type { AskedPart } from '../managed/resolve.ts';
import type { Layer } from './layer.ts';
import type { FoundKeys } from './sighting.ts';

/** What a layer wants to take for a request. */
export class Asking<Request, Response> {
  readonly layer: Layer<Request, Response>;
  readonly parts: readonly AskedPart[];
  readonly keys: FoundKeys;
  /** Whether its decision is the whole of it: nothing is held, and no start waited for. */
  readonly isOverAtOnce: boolean;

  constructor(layer: Layer<Request, Response>, parts: readonly AskedPart[], keys: FoundKeys, isOverAtOnce: boolean) {
    this.layer = layer;
    this.parts = parts;
    this.keys = keys;
    this.isOverAtOnce = isOverAtOnce;
  }
}
