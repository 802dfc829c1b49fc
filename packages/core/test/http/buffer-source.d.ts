/** Of the DOM, which is not here: structured-headers names it in its types. */
type BufferSource = ArrayBufferView | ArrayBuffer;
