import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync, Visitor } from 'oxc-parser'
import { check } from 'recheck'
import { expect, test } from 'vitest'

/**
 * Expressions that cannot be proven to take linear time, by file, with the reason why they may stay: their text has at most 256 characters, or
 * is never written by others. `new RegExp` is here as a whole.
 */
const UNPROVEN: Record<string, Record<string, string>> = {}

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
  const noteCall = ({ callee, start, end }: { callee: { type: string; name?: string }; start: number; end: number }) => {
    if (callee.type === 'Identifier' && callee.name === 'RegExp') found.push({ file, source: text.slice(start, end).replace(/\s+/g, ' '), flags: 'new' })
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
  const searched = asSearched(expression)
  for (const source of new Set([searched, withoutNumbers(searched)])) {
    const { status, checker } = await check(source, flags, { timeout: 60_000, checker: 'automaton' })
    if (status === 'safe' && checker === 'automaton') return true
  }
  return false
}

/** A proof takes up to some seconds; it is kept for the next run. */
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/linear-expressions.json', import.meta.url))

function readCache(): Record<string, boolean> {
  try {
    return JSON.parse(readFileSync(CACHE, 'utf8'))
  } catch {
    return {}
  }
}

const keyOf = ({ source, flags }: Expression) => createHash('sha256').update(`${flags} ${source}`).digest('hex').slice(0, 24)

async function findUnproven() {
  const known = readCache()
  const left = expressions.filter(({ flags }) => flags !== 'new')
  const work = async () => {
    for (let next = left.pop(); next; next = left.pop()) known[keyOf(next)] ??= await isLinear(next)
  }
  await Promise.all([work(), work()])
  mkdirSync(dirname(CACHE), { recursive: true })
  writeFileSync(CACHE, JSON.stringify(known))
  return expressions.filter((expression) => expression.flags === 'new' || !known[keyOf(expression)])
}

test('every regular expression is proven to take linear time, or has a reason why it need not be', { timeout: 600_000 }, async () => {
  const unproven = await findUnproven()
  const shown = unproven.map(({ file, source, flags }) => `${file} ${flags === 'new' ? source : `/${source}/${flags}`}`)
  const listed = Object.entries(UNPROVEN).flatMap(([file, sources]) => Object.keys(sources).map((source) => `${file} ${source}`))
  expect([...new Set(shown)].sort()).toEqual(listed.sort())
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
