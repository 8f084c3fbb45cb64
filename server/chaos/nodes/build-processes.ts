import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type OutputFile } from 'esbuild'
import { onceInRun } from './once-in-run.ts'

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))
let built: Promise<void> | undefined

/**
 * The file of a process that suites start, as JavaScript: starting from the sources takes three times as long. In watch mode the sources may
 * have changed since another process built it.
 */
export async function builtProcess(name: 'sender' | 'sink' | 'attacker' | 'overload-client') {
  built ??= process.env.TEST_BUNDLE ? onceInRun('build', buildProcesses) : buildProcesses()
  await built
  return pathOf(`../dist/${name}.js`)
}

async function buildProcesses() {
  const { BUNDLE } = await import(new URL('../../../scripts/build.mjs', import.meta.url).href)
  const { outputFiles } = await build({
    entryPoints: {
      sender: pathOf('./sender.ts'),
      sink: pathOf('./sink.ts'),
      attacker: pathOf('../neighbours/attacker.ts'),
      'overload-client': pathOf('../overload/overload-client.ts'),
      'build-thread': pathOf('../../src/delivery/message/build-thread.ts'),
    },
    ...BUNDLE,
    // Parts of an older build would stay in the folder.
    splitting: false,
    outdir: pathOf('../dist'),
    logLevel: 'warning',
    write: false,
  })
  for (const file of outputFiles!) put(file)
  // A worker is ready once the database has all migrations.
  cpSync(pathOf('../../src/db/migrations'), pathOf('../dist/migrations'), { recursive: true })
  const current = readdirSync(pathOf('../../src/db/migrations'))
  for (const file of readdirSync(pathOf('../dist/migrations')))
    if (!current.includes(file)) rmSync(pathOf(`../dist/migrations/${file}`), { force: true })
}

/** Two suites may build at the same time: a process must never start from half a file. */
function put({ path, contents }: OutputFile) {
  if (existsSync(path) && readFileSync(path).equals(contents)) return
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, contents)
  renameSync(draft, path)
}
