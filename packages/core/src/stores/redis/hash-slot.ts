const SLOTS = 16_384;

/** CRC-16/XMODEM, as the Redis Cluster specification has it. */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

/** The hash slot of keys with this hash tag, which is plain ASCII. */
export function hashSlot(tag: string): number {
  let crc = 0;
  for (let i = 0; i < tag.length; i++) {
    crc = ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ tag.charCodeAt(i)] as number);
  }
  return crc % SLOTS;
}
