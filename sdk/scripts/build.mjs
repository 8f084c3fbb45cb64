import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SDK = join(dirname(fileURLToPath(import.meta.url)), '..')
const DIST = join(SDK, 'dist')

// A file of an earlier build must not get into the package.
rmSync(DIST, { recursive: true, force: true })
const compile = (config) => execFileSync(join(SDK, '../node_modules/.bin/tsc'), ['-p', join(SDK, config)], { stdio: ['ignore', 2, 2] })
compile('tsconfig.build.json')

// The compiler rewrites `./list.ts` to `./list.js` in the code, but not in the types.
for (const file of readdirSync(DIST).filter((name) => name.endsWith('.d.ts'))) {
  const types = readFileSync(join(DIST, file), 'utf8')
  writeFileSync(join(DIST, file), types.replaceAll(/(['"])(\.\/[\w-]+)\.ts\1/g, '$1$2.js$1'))
}

// The command is compiled with a copy of the client beside it. The package has the client once, one folder higher.
const COMMAND = join(SDK, 'dist-command')
rmSync(COMMAND, { recursive: true, force: true })
compile('tsconfig.cli.json')
mkdirSync(join(DIST, 'cli'))
for (const file of readdirSync(join(COMMAND, 'cli'))) {
  const code = readFileSync(join(COMMAND, 'cli', file), 'utf8')
  writeFileSync(join(DIST, 'cli', file), code.replaceAll("'../src/", "'../"))
}
chmodSync(join(DIST, 'cli/main.js'), 0o755)
rmSync(COMMAND, { recursive: true })
