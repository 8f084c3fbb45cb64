export const LANGUAGES = { curl: 'curl', node: 'Node', python: 'Python' } as const
export type Language = keyof typeof LANGUAGES

type Call = { origin: string; key: string; body: Record<string, unknown> }

const jsonOf = (body: object, indent: string) => JSON.stringify(body, null, 2).replaceAll('\n', `\n${indent}`)

/** The call that tracks an event, to paste into a terminal or a program. */
export const SNIPPETS: Record<Language, (call: Call) => string> = {
  curl: ({ origin, key, body }) =>
    [
      `curl ${origin}/v1/track`,
      `  -H "Authorization: Bearer ${key}"`,
      `  -H 'Content-Type: application/json'`,
      `  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
    ].join(' \\\n'),
  node: ({ origin, key, body }) => `await fetch('${origin}/v1/track', {
  method: 'POST',
  headers: { Authorization: 'Bearer ${key}', 'Content-Type': 'application/json' },
  body: JSON.stringify(${jsonOf(body, '  ')}),
})`,
  python: ({ origin, key, body }) => `import requests

requests.post(
    "${origin}/v1/track",
    headers={"Authorization": "Bearer ${key}"},
    json=${jsonOf(body, '    ')},
)`,
}
