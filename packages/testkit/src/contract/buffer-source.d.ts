/**
 * A DOM type that the types of structured-headers need. Programs with the DOM have it, and do not include this file.
 */
type BufferSource = ArrayBufferView | ArrayBuffer;
