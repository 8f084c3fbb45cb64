import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parseAst } from 'vitest/node'

/** A longer function does several things. Tables of schemas may be longer: they are declared outside of functions. */
const MAX_FUNCTION_LINES = 120

type Node = { type: string; start: number; end: number; body?: unknown }
const isFunction = ({ type, body }: Node) =>
  /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type) && Boolean(body)

function* functionsIn(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return
  if ('type' in value && isFunction(value as Node)) yield value as Node
  for (const child of Object.values(value)) yield* functionsIn(child)
}

const lineAt = (source: string, offset: number) => source.slice(0, offset).split('\n').length

/** Place and length of each function with more lines than allowed. */
function longFunctionsIn(source: string, name: string) {
  const lines = ({ start, end }: Node) => source.slice(start, end).split('\n').length
  return [...functionsIn(parseAst(source, { lang: 'ts' }))]
    .filter((each) => lines(each) > MAX_FUNCTION_LINES)
    .map((each) => `${name}:${lineAt(source, each.start)} has ${lines(each)} lines`)
}

test(`no function has more than ${MAX_FUNCTION_LINES} lines`, () => {
  const root = fileURLToPath(new URL('../../src/', import.meta.url))
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  )
  expect(files.length).toBeGreaterThan(500)
  expect(files.flatMap((file) => longFunctionsIn(readFileSync(root + file, 'utf8'), file))).toEqual([])
})

test.each(['export function long() {', 'const long = async () => {', 'const of = { long() {'])(
  'a long function is found: %s',
  (opening) => {
    const body = (lines: number) => `${opening}\n${'  work()\n'.repeat(lines)}}${opening.startsWith('const of') ? ' }' : ''}`
    expect(longFunctionsIn(body(MAX_FUNCTION_LINES - 2), 'file.ts')).toEqual([])
    expect(longFunctionsIn(body(MAX_FUNCTION_LINES - 1), 'file.ts')).toEqual(['file.ts:1 has 121 lines'])
  },
)
