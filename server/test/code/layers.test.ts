import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { FOLDERS, ROOT_FILES } from './layers.ts'

const ARCHITECTURE = fileURLToPath(new URL('../../../ARCHITECTURE.md', import.meta.url))
const SRC = fileURLToPath(new URL('../../src', import.meta.url))

const TABLE = /(?<=\n<!-- Made from server\/test\/code\/layers\.ts .*-->\n\n)[\s\S]*?(?=\n\n)/

const rows = (entries: Record<string, string>, layer: string) =>
  Object.entries(entries).map(([name, does], index) => `| ${index === 0 ? layer : ''} | \`${name}\` | ${does} |`)

/** The composition root, then the highest layer first. */
const printTable = () =>
  [
    '| layer | folder | what it does |',
    '|---|---|---|',
    ...rows(ROOT_FILES, 'composition root'),
    ...FOLDERS.flatMap((layer, index) => [rows(layer, String(index + 1))])
      .toReversed()
      .flat(),
  ]
    .join('\n')
    .replaceAll('|  |', '| |')

test('every file of the composition root is named', () => {
  const files = readdirSync(SRC, { withFileTypes: true }).filter((entry) => entry.isFile())
  expect(Object.keys(ROOT_FILES).sort()).toEqual(files.map(({ name }) => name).sort())
})

test('every layer names its folders, and no other ones', () => {
  const folders = readdirSync(SRC, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(FOLDERS.flatMap((layer) => Object.keys(layer)).sort()).toEqual(folders.map(({ name }) => name).sort())
})

// Run this file with -u to write the table.
test('ARCHITECTURE.md has the table of layers', async () => {
  const text = readFileSync(ARCHITECTURE, 'utf8')
  expect(text).toMatch(TABLE)
  await expect(text.replace(TABLE, printTable)).toMatchFileSnapshot(ARCHITECTURE)
})
