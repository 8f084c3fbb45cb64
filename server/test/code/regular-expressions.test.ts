import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CallExpression, type NewExpression, parseSync, Visitor } from 'oxc-parser'
import { check } from 'recheck'
import { expect, test } from 'vitest'

/**
 * Expressions that cannot be proven to take linear time, by file, with the reason why they may stay: their text is short or never written by
 * others, or they look at a fixed number of characters. `new RegExp` is here as a whole.
 */
const UNPROVEN: Record<string, Record<string, string>> = JSON.parse(
  readFileSync(new URL('./unproven-expressions.json', import.meta.url), 'utf8'),
)

type Expression = { file: string; source: string; flags: string }

const SRC = fileURLToPath(new URL('../../src', import.meta.url))
const isProduct = (name: string) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.endsWith('.arbitrary.ts')

const files = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && isProduct(entry.name))
  .map((entry) => join(entry.parentPath, entry.name))

/** Literals, and calls of RegExp with `flags` of `new`. */
function expressionsIn(path: string): Expression[] {
  const text = readFileSync(path, 'utf8')
  const file = path.slice(SRC.length + 1)
  const found: Expression[] = []
  const noteCall = ({ callee, start, end }: NewExpression | CallExpression) => {
    if (callee.type === 'Identifier' && callee.name === 'RegExp')
      found.push({ file, source: text.slice(start, end).replace(/\s+/g, ' '), flags: 'new' })
  }
  new Visitor({
    Literal(node) {
      if ('regex' in node) found.push({ file, source: node.regex.pattern, flags: node.regex.flags })
    },
    NewExpression: noteCall,
    CallExpression: noteCall,
  }).visit(parseSync(path, text).program)
  return found
}

const expressions = files.flatMap(expressionsIn)

/**
 * What is proven. A search begins at every place of the text, again behind every match with the flag `g`, and only at the place that is given
 * with `y`.
 */
function asSearched({ source, flags }: Expression) {
  if (flags.includes('y')) return `^(?:${source})`
  return flags.includes('g') && !(source.startsWith('^') && !flags.includes('m')) ? `^(?:(?:${source})|[^])*$` : source
}

/** With `*` in place of numbers, for which a proof takes too long: whatever is linear without a limit is with one. */
const withoutNumbers = (source: string) => source.replace(/(?<!\\[pPu])\{(\d+)(?:,\d*)?\}/g, (_, least) => (Number(least) > 0 ? '+' : '*'))

async function isLinear(expression: Expression) {
  const flags = expression.flags.replace(/[gyd]/g, '')
  const { status } = await check(withoutNumbers(asSearched(expression)), flags, { timeout: 60_000, checker: 'automaton' })
  return status === 'safe'
}

/**
 * Expressions that were proven. A proof depends on nothing else, and takes up to some seconds, so only expressions that are not in the file are
 * proven anew.
 */
const PROVEN = fileURLToPath(new URL('./linear-expressions.golden.txt', import.meta.url))
const lineOf = ({ source, flags }: Expression) => `${flags} ${source}`

test('every regular expression is proven to take linear time, or has a reason why it need not be', async () => {
  const before = new Set(existsSync(PROVEN) ? readFileSync(PROVEN, 'utf8').split('\n') : [])
  const proven = new Set<string>()
  const unproven = new Set<string>()
  for (const expression of expressions) {
    const { file, source, flags } = expression
    const listed = flags === 'new' ? source : `/${source}/${flags}`
    if (UNPROVEN[file]?.[listed] !== undefined) unproven.add(`${file} ${listed}`)
    else if (flags !== 'new' && (before.has(lineOf(expression)) || (await isLinear(expression)))) proven.add(lineOf(expression))
    else expect.soft(listed, `${file} has an expression that is not proven to be linear`).toBe('')
  }
  // No reason is left of an expression that is gone.
  expect([...unproven].sort()).toEqual(
    Object.entries(UNPROVEN)
      .flatMap(([file, reasons]) => Object.keys(reasons).map((source) => `${file} ${source}`))
      .sort(),
  )
  await expect(`${[...proven].sort().join('\n')}\n`).toMatchFileSnapshot(PROVEN)
})

test.each([
  [String.raw`\(.*\)`, 'g'],
  [String.raw`\s+$`, ''],
  ['(?:a|a)*$', ''],
  // Each match gives up far behind its end.
  ['a(?:[^b]*b)?', 'g'],
  ['<img [^>]*>', 'g'],
])('/%s/%s is not', async (source, flags) => {
  expect(await isLinear({ file: '', source, flags })).toBe(false)
})

test.each([
  ['[a-z]+', 'g'],
  ['<img [^<>]*>', 'g'],
  [String.raw`^\s+`, ''],
])('/%s/%s is', async (source, flags) => {
  expect(await isLinear({ file: '', source, flags })).toBe(true)
})
