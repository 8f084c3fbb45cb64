import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { SNIPPETS } from './snippets.ts'

const BODY = { email: "o'neil@example.com", event: 'signup', data: { plan: 'pro' } }
const CALL = { origin: 'https://sterna.example.com', key: 'pk_1', body: BODY }

test('the call for a terminal survives a quote in its values', () => {
  const script = SNIPPETS.curl(CALL).replace(/^curl /, `printf '%s\\n' `)
  const words = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trim().split('\n')
  expect(words).toEqual([
    'https://sterna.example.com/v1/track',
    '-H',
    'Authorization: Bearer pk_1',
    '-H',
    'Content-Type: application/json',
    '-d',
    JSON.stringify(BODY),
  ])
})

test('the call for Node sends the same request', async () => {
  let sent: [string, RequestInit] | undefined
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor
  await new AsyncFunction('fetch', SNIPPETS.node(CALL))((...request: [string, RequestInit]) => {
    sent = request
  })
  expect(sent![0]).toBe('https://sterna.example.com/v1/track')
  expect(sent![1]).toMatchObject({ method: 'POST', headers: { Authorization: 'Bearer pk_1' } })
  expect(JSON.parse(String(sent![1].body))).toEqual(BODY)
})

test('the call for Python has the same address, key and values', () => {
  const code = SNIPPETS.python(CALL)
  expect(code).toContain('"https://sterna.example.com/v1/track"')
  expect(code).toContain('"Authorization": "Bearer pk_1"')
  expect(JSON.parse(/json=(\{.*\}),\n\)$/s.exec(code)![1]!)).toEqual(BODY)
})
