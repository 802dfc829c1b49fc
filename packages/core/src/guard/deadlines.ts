import { detached, MAX_TIMER_MS, stopTimer, type Timer } from '../platform.ts';

/** If a timer fires later than this, the process itself was stalled. */
const LATE_MS = 10;
/** The extra time that a store gets after such a stall, because the request may only just have been sent. */
const GRACE_MS = 40;

/** A call that waits for its store, linked to its neighbours in the ring of all waiting calls. */
export class WaitingCall {
  /** When it ends, by `performance.now()`. */
  endMs: number;
  /** Called when its time has passed. */
  readonly giveUp: (nowMs: number) => void;
  /** Whether it has had its extra time after a stall. */
  hadGrace: boolean;
  before: WaitingCall;
  after: WaitingCall;

  constructor(endMs: number, giveUp: (nowMs: number) => void) {
    this.endMs = endMs;
    this.giveUp = giveUp;
    this.hadGrace = false;
    this.before = this;
    this.after = this;
  }
}

/**
 * All calls of the process. One timer serves the call that ends first, and keeps the process alive for all. They form a
 * linked ring, because a Set takes three times as long, most of it for garbage collection.
 */
const ring: WaitingCall = /* @__PURE__ */ new WaitingCall(Infinity, () => undefined);
let timer: Timer | undefined;
let dueMs = Infinity;
/** The fake timers of a finished test never fire. */
let timerIsOf: typeof setTimeout | undefined;
/** Calls may be sent until then, although their time has passed during a stall of this process. */
let graceEndMs = 0;

/** Until when a request whose time has passed may still make calls: 0, or later after a stall of this process. */
export function findGrace(nowMs: number): number {
  return graceEndMs <= nowMs + GRACE_MS ? graceEndMs : 0;
}

/**
 * Waits until `endMs`, then makes the call give up.
 *
 * A stall of this process is not held against the store: when the time has passed, everything that has arrived is read
 * first, and if the timer itself was late, the call gets 40 ms more, once. Slow sending in the same turn of the event
 * loop is such a stall too, because the timer starts after it.
 */
export function startWaiting(call: WaitingCall, nowMs: number): void {
  if (ring.after === ring) timer?.ref?.();
  call.before = ring.before;
  call.after = ring;
  call.before.after = call;
  ring.before = call;
  if (call.endMs < dueMs || timerIsOf !== setTimeout) start(call.endMs, nowMs);
}

/** Ends the wait. Returns whether the call had not given up. The timer keeps running and serves the next call. */
export function stopWaiting(call: WaitingCall): boolean {
  if (call.after === call) return false;
  call.before.after = call.after;
  call.after.before = call.before;
  call.before = call;
  call.after = call;
  if (ring.after === ring) timer?.unref?.();
  return true;
}

function start(atMs: number, nowMs: number): void {
  if (timerIsOf === setTimeout) stopTimer(timer);
  timerIsOf = setTimeout;
  dueMs = atMs;
  const ms = Math.min(Math.max(Math.ceil(atMs - nowMs), 1), MAX_TIMER_MS);
  timer = detached(() => setTimeout(fire, ms) as Timer);
}

function fire(): void {
  const nowMs = performance.now();
  const wasStalled = nowMs - dueMs > LATE_MS;
  if (wasStalled) graceEndMs = nowMs + GRACE_MS;
  timer = undefined;
  dueMs = Infinity;
  // In a turn of the event loop timers run before sockets, and immediates after them.
  if (typeof setImmediate === 'function') setImmediate(sweep, wasStalled);
  else setTimeout(sweep, 0, wasStalled);
}

function sweep(wasStalled: boolean): void {
  const nowMs = performance.now();
  let nextMs = Infinity;
  if (wasStalled) graceEndMs = nowMs + GRACE_MS; // reading may have been a stall as well
  for (let call = ring.after; call !== ring;) {
    const { after } = call;
    if (call.endMs <= nowMs && wasStalled && !call.hadGrace) {
      call.hadGrace = true;
      call.endMs = graceEndMs;
    }
    if (call.endMs <= nowMs) {
      stopWaiting(call);
      call.giveUp(nowMs);
    } else nextMs = Math.min(nextMs, call.endMs);
    call = after;
  }
  if (nextMs < dueMs) start(nextMs, nowMs);
}
