import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SDK = join(dirname(fileURLToPath(import.meta.url)), '..')
const DIST = join(SDK, 'dist')

// A file of an earlier build must not get into the package.
rmSync(DIST, { recursive: true, force: true })
execFileSync(join(SDK, '../node_modules/.bin/tsc'), ['-p', join(SDK, 'tsconfig.build.json')], { stdio: ['ignore', 2, 2] })

// The compiler rewrites `./list.ts` to `./list.js` in the code, but not in the types.
for (const file of readdirSync(DIST).filter((name) => name.endsWith('.d.ts'))) {
  const types = readFileSync(join(DIST, file), 'utf8')
  writeFileSync(join(DIST, file), types.replaceAll(/(['"])(\.\/[\w-]+)\.ts\1/g, '$1$2.js$1'))
}
