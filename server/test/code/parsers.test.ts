import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** Files that parse, but nothing of others. */
const OWN_DATA: Record<string, string> = {
  'backup/restore.ts': 'the backup of the operator',
  'billing/customer.ts': 'a class of errors of the library',
  'db/embedded/binaries.ts': 'the package of the embedded database',
  'db/embedded/startlock.ts': 'our lock file',
  'http/openapi/openapi.ts': 'our API document',
  'lib/config.ts': 'settings of the operator',
  'lib/environment.ts': 'settings of the operator',
  'lib/process/map-stacks.ts': 'source maps of our bundle',
  'lib/process/version.ts': 'our package.json',
  'lib/text/steps.ts': 'a type',
  'mime/raw/charset.ts': 'decoders of the platform',
  'moving/export-project.ts': 'rows of our database',
  'projects/moved-project.ts': 'rows of our database',
  'segments/definition/expressions.ts': 'conditions that were validated when they were stored',
  'webhook-endpoints/deliver.ts': 'payloads that were written by us',
  'webhook-endpoints/message-bodies.ts': 'payloads that were written by us',
}

/** Signs of a parser: a library (not only its types), JSON, or a scanner that counts its steps. */
const LIBRARY =
  /^(?:import (?!type )[^\n]* from|.*await import\() ?'(?:htmlparser2|postal-mime|liquidjs|sharp|croner|tldts|smtp-server|ipaddr\.js|stripe|@fastify\/multipart|cookie|node:dns(?:\/promises)?)'/m
const isParser = (text: string) => LIBRARY.test(text) || text.includes('JSON.parse(') || /\bsteps: Steps\b/.test(text)

const SRC = fileURLToPath(new URL('../../src', import.meta.url))
const files = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
  .map((entry) => join(entry.parentPath, entry.name).slice(SRC.length + 1))
const table = readFileSync(new URL('../../../docs/architecture/parsers.md', import.meta.url), 'utf8').split('## Table')[1]!
const rows = table.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| what is read'))
const named = rows.flatMap((row) => [...row.split('|')[2]!.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file))

test('the table of readers names files that exist, with a bound and a place', () => {
  expect(rows.length).toBeGreaterThan(20)
  expect(named.filter((file) => !existsSync(join(SRC, file)))).toEqual([])
  for (const row of rows)
    expect(
      row
        .split('|')
        .slice(1, -1)
        .every((cell) => cell.trim() !== ''),
      row,
    ).toBe(true)
})

test('every file that parses is in the table, or reads nothing of others', () => {
  const parsers = files.filter((file) => isParser(readFileSync(join(SRC, file), 'utf8')))
  expect(parsers.filter((file) => !named.includes(file) && OWN_DATA[file] === undefined)).toEqual([])
  expect(Object.keys(OWN_DATA).filter((file) => !files.includes(file))).toEqual([])
})
