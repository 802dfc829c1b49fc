const SLOTS = 16_384;

/** CRC-16/XMODEM, as in the Redis Cluster specification. */
const TABLE = /* @__PURE__ */ Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

/** The hash slot of keys with this hash tag, which is sent as UTF-8. */
export function hashSlot(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) crc = ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ byte] as number);
  return crc % SLOTS;
}
