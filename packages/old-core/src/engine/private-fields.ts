/**
 * Base of classes that put private fields on objects that others made: its constructor returns the given object, and
 * the class that extends it adds its fields to that. Such a field is invisible to all other code, is not copied, and
 * can be added to a frozen object. It costs a fraction of an entry in a WeakMap.
 */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- the constructor is all there is to it
export class PrivateFields {
  constructor(object: object) {
    return object;
  }
}
