import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

type Chunk = { file: string; imports?: string[]; css?: string[]; assets?: string[] }

const DIST = join(import.meta.dirname, '../dist')
/** The files that a browser loads to show the overview: the start page, the shell, the page and its chart. */
const FIRST_PAGE = ['index.html', 'src/shell/shell.tsx', 'src/features/overview/overview-page.tsx', 'src/ui/chart/time-series.tsx']
/** Loaded only by a page that shows letters outside English. */
const NOT_FOR_ENGLISH = /inter-latin/

const manifest = JSON.parse(readFileSync(join(DIST, '.vite/manifest.json'), 'utf8')) as Record<string, Chunk>

function chunksOf(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  for (const imported of manifest[name]!.imports ?? []) chunksOf(imported, found)
  return found
}

/** Bytes on the wire, for a browser that accepts brotli. */
const sizeOf = (file: string) => {
  const path = join(DIST, file)
  return statSync(existsSync(`${path}.br`) ? `${path}.br` : path).size
}

test('the visual editor takes at most 150 KB more, and the first page does not load it', () => {
  const first = new Set(FIRST_PAGE.flatMap((name) => [...chunksOf(name)]))
  const own = [...chunksOf('src/design/design-editor.tsx')].filter((name) => !first.has(name))
  expect(own).toContain('src/design/design-editor.tsx')
  const files = own.flatMap((name) => [manifest[name]!.file, ...(manifest[name]!.css ?? [])])
  expect(files.reduce((sum, file) => sum + sizeOf(file), 0)).toBeLessThanOrEqual(150 * 1024)
})

describe('the first page', () => {
  const chunks = new Set(FIRST_PAGE.flatMap((name) => [...chunksOf(name)]))
  const built = [...chunks].flatMap((name) => [manifest[name]!.file, ...(manifest[name]!.css ?? []), ...(manifest[name]!.assets ?? [])])
  const files = [...new Set(['index.html', 'theme.js', 'favicon.svg', ...built])].filter((file) => !NOT_FOR_ENGLISH.test(file))

  test('takes at most 200 KB in at most 25 files', () => {
    expect(files.length).toBeLessThanOrEqual(25)
    expect(files.reduce((sum, file) => sum + sizeOf(file), 0)).toBeLessThanOrEqual(200 * 1024)
  })

  test('has a font, and compressed copies of every other file', () => {
    expect(files.filter((file) => file.endsWith('.woff2'))).toHaveLength(1)
    const texts = files.filter((file) => !file.endsWith('.woff2'))
    expect(texts.filter((file) => !existsSync(join(DIST, `${file}.br`)) || !existsSync(join(DIST, `${file}.gz`)))).toEqual([])
  })
})

test('the canvas of workflows is loaded with its own page only, and takes at most 110 KB', () => {
  const entry = 'src/features/workflows/canvas/workflow-canvas.tsx'
  const firstPage = new Set(FIRST_PAGE.flatMap((name) => [...chunksOf(name)]))
  const page = chunksOf('src/features/workflows/workflow-page.tsx')
  expect([firstPage.has(entry), page.has(entry)]).toEqual([false, false])
  const own = [...chunksOf(entry)].filter((name) => !firstPage.has(name) && !page.has(name))
  const files = own.flatMap((name) => [manifest[name]!.file, ...(manifest[name]!.css ?? [])])
  expect(files.reduce((sum, file) => sum + sizeOf(file), 0)).toBeLessThanOrEqual(110 * 1024)
})
