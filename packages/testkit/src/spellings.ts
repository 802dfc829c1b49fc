/** Spellings of a path, the plain one first: each framework decides which of them name the same resource. */
export function spellingsOf(path: string): readonly string[] {
  const name = path.slice(1);
  const first = `%${name.charCodeAt(0).toString(16)}`;
  const rest = name.slice(1);
  return [
    ...[path, path.toUpperCase(), `/${name.charAt(0).toUpperCase()}${rest}`, `${path}/`, `${path}//`, `/${path}`],
    ...[`//${path}`, `/.${path}`, `/x/..${path}`, `${path}/.`, `${path}/../${name}`, `/${first}${rest}`],
    ...[`/${first.toUpperCase()}${rest}`, `/%25${first.slice(1)}${rest}`, `${path};a=1`, `${path}?`, `${path}?x=1`],
    ...[`${path}?${path}`, `${path}#f`, `${path}%23f`, `http://test${path}`, `HTTP://OTHER${path}`],
    ...[`http://test/${path}`, `${path}%2F`, `${path}%2f`, `%2F${name}`, `/%2F${name}`, `${path}%00`, `${path}%20`],
    ...[`${path}%09`, `${path}%0A`, `${path}.`, `${path}%3Fx`, `${path}%E8`, `/%c0%af${name}`, `\\${name}`],
    ...[`${path}\\`, `${path}&`, `${path}*`],
  ];
}
