// Written by scripts/build/build-lua.mjs from exchange-names.lua. Do not edit: edit those.
/**
 * In this order:
 * - exchange-names.lua
 */
export const exchangeNames: { readonly source: string; readonly sha1: string } = {
  sha1: '1ffb1ba74f8e85efefa9f18e84adbc80c2483ffa',
  source: `local before = {}
for i = 1, #KEYS do
  before[i] = redis.call("GET", KEYS[i]) or ""
  redis.call("SET", KEYS[i], ARGV[i + 1], "PX", ARGV[1])
end
return before`,
};
