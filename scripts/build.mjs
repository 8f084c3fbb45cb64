import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')

/** What is built, from which folders. A part is built again when the content of its sources has changed. */
const PARTS = [
  { name: 'server', out: 'server/dist', sources: ['server/src'], build: buildServer },
  {
    name: 'dashboard',
    out: 'dashboard/dist',
    sources: ['dashboard/src', 'dashboard/public', 'dashboard/index.html', 'dashboard/vite.config.ts', 'sdk/src'],
    build: buildDashboard,
  },
]

export async function buildStale() {
  for (const { name, out, sources, build } of PARTS) {
    const stamp = join(ROOT, out, '.built-from')
    const current = fingerprint([...sources, 'package-lock.json'])
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === current) continue
    console.error(`building the ${name} …`)
    await build(join(ROOT, out))
    writeFileSync(stamp, current)
  }
}

async function buildServer(out) {
  const { build } = await import('esbuild')
  rmSync(out, { recursive: true, force: true })
  await build({
    entryPoints: ['main', 'cli'].map((name) => join(ROOT, `server/src/${name}.ts`)),
    outdir: out,
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: true,
    logLevel: 'warning',
  })
  cpSync(join(ROOT, 'server/src/db/migrations'), join(out, 'migrations'), { recursive: true })
}

async function buildDashboard(out) {
  const { build } = await import('vite')
  mkdirSync(out, { recursive: true })
  await build({ root: join(ROOT, 'dashboard'), logLevel: 'warn', mode: 'production' })
}

function fingerprint(paths) {
  const hash = createHash('sha256')
  for (const file of paths.flatMap((path) => filesOf(join(ROOT, path))).sort()) {
    hash.update(file.slice(ROOT.length)).update('\0').update(readFileSync(file)).update('\0')
  }
  return hash.digest('hex')
}

function filesOf(path) {
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return [path]
  const entries = readdirSync(path, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildStale()
