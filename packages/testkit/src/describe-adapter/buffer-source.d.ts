/** A DOM type that the types of structured-headers need. A program that has the types of the DOM does not read this file. */
type BufferSource = ArrayBufferView | ArrayBuffer;
