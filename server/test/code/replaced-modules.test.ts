import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')

test('no test of the server replaces a module: Node loads the sources, so it would have no effect', () => {
  const files = ['server/src', 'server/test', 'server/chaos', 'sdk/test']
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
    .filter((name) => name.endsWith('.test.ts'))
  expect(files.length).toBeGreaterThan(300)
  expect(files.filter((name) => /\bvi\.(do)?mock\(/i.test(readFileSync(join(ROOT, name), 'utf8')))).toEqual([])
})
