// The frames of `remoteStore`, for the service at their other end.
export { servedStore, type ServedStore } from '../served-store.ts';
export {
  FRAME,
  FrameError,
  FrameReader,
  MOST_FRAME_BYTES,
  MOST_LIMITS,
  PROTOCOL,
  readText,
  writeFrame,
  type FrameType,
} from './frames.ts';
export { answersFromJson, answersToJson } from './answers.ts';
export { batchAnswerFromJson, batchAnswerToJson, batchFromJson, batchToJson, type ReadBatch } from './batches.ts';
export { failureToJson } from './failure.ts';
export { limitFromJson, limitToJson } from './limit.ts';
export { requestsFromJson, requestsToJson, uncountable, type LimitAt, type ReadCall } from './requests.ts';
