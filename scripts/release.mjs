// Builds and checks everything that a release consists of, in the folder `release`. Publishes nothing.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildStale } from './build.mjs'
import { listPackages } from './dependencies.mjs'
import { pack } from './pack.mjs'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const OUT = join(ROOT, 'release')
const read = (path) => readFileSync(join(ROOT, path), 'utf8')
const { version } = JSON.parse(read('package.json'))

function requireThat(condition, problem) {
  if (condition) return
  console.error(problem)
  process.exit(1)
}

requireThat(execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' }) === '', 'Commit or remove your changes first.')
requireThat(
  new RegExp(`^## ${version.replaceAll('.', '\\.')} · \\d{4}-\\d{2}-\\d{2}$`, 'm').test(read('CHANGELOG.md')),
  `CHANGELOG.md has no dated section "## ${version} · YYYY-MM-DD".`,
)
for (const part of ['server', 'dashboard', 'sdk'])
  requireThat(JSON.parse(read(`${part}/package.json`)).version === version, `${part}/package.json has another version than package.json.`)

// Kept for the tests of every later version: can they start on what customers of this one have?
const FIXTURE = `server/test/fixtures/releases/${version}`
if (!existsSync(join(ROOT, FIXTURE))) {
  await buildStale()
  execFileSync('npx', ['tsx', 'server/scripts/release-fixture.ts'], { cwd: ROOT, stdio: 'inherit' })
  requireThat(false, `${FIXTURE} is new: commit it, and run this again.`)
}

rmSync(OUT, { recursive: true, force: true })
mkdirSync(OUT)
await pack(OUT)
execFileSync('npm', ['pack', '--silent', '--pack-destination', OUT], { cwd: join(ROOT, 'sdk'), stdio: 'inherit' })
writeFileSync(join(OUT, 'sbom.cdx.json'), `${JSON.stringify(sbom(), null, 2)}\n`)
const files = readdirSync(OUT).sort()
const sumOf = (name) =>
  createHash('sha256')
    .update(readFileSync(join(OUT, name)))
    .digest('hex')
writeFileSync(join(OUT, 'SHA256SUMS'), files.map((name) => `${sumOf(name)}  ${name}\n`).join(''))
execFileSync('npx', ['vitest', 'run', 'server/test/installation/package.test.ts', 'server/test/installation/upgrade.test.ts'], {
  cwd: ROOT,
  stdio: 'inherit',
  env: { ...process.env, FROM_REGISTRY: '1' },
})
execFileSync('node', ['scripts/check-image.mjs'], { cwd: ROOT, stdio: 'inherit' })
requireThat(existsSync(join(OUT, 'SHA256SUMS')), 'The release is incomplete.')
console.log(`\nSterna ${version} is in ${OUT}:\n${readFileSync(join(OUT, 'SHA256SUMS'), 'utf8')}`)

/** A CycloneDX list of what an installation consists of. */
function sbom() {
  const purl = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', name: 'sterna', version, purl: purl('sterna', version) } },
    components: listPackages(JSON.parse(read('package-lock.json'))).map(({ name, version, license }) => ({
      type: 'library',
      name,
      version,
      purl: purl(name, version),
      ...(license ? { licenses: [{ expression: license }] } : {}),
    })),
  }
}
