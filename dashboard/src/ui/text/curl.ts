/** A call as curl, for a terminal. The key is named, not shown. */
export function curl(
  method: 'GET' | 'POST',
  path: string,
  { body, key = '$STERNA_SECRET_KEY' }: { body?: object; key?: string } = {},
): string {
  const lines = [
    `curl ${window.location.origin}${path}`,
    `  -H "Authorization: Bearer ${key}"`,
    ...(body ? [`  -H 'Content-Type: application/json'`, `  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`] : []),
  ]
  if (method === 'GET') lines[0] = `curl '${window.location.origin}${path}'`
  return lines.join(' \\\n')
}
