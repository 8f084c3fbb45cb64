// Makes the package that people install: pre-built, with the exact versions of its dependencies. `node scripts/pack.mjs [folder]`
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildStale } from './build.mjs'
import { listPackages, shrinkwrap } from './dependencies.mjs'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const readJson = (path) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
const CONTENTS = [
  'bin',
  'scripts/serve.mjs',
  'scripts/stop-with-npm.mjs',
  'server/dist',
  'dashboard/dist',
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
]

/** Writes `sterna-<version>.tgz` into a folder, and returns its path. */
export async function pack(folder) {
  await buildStale()
  const stage = join(folder, 'package')
  rmSync(stage, { recursive: true, force: true })
  mkdirSync(stage, { recursive: true })
  for (const path of CONTENTS) cpSync(join(ROOT, path), join(stage, path), { recursive: true })
  const manifest = packageManifest()
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  writeFileSync(join(stage, 'npm-shrinkwrap.json'), `${JSON.stringify(shrinkwrap(manifest, readJson('package-lock.json')), null, 2)}\n`)
  writeFileSync(join(stage, 'NOTICES.md'), notices())
  const name = execFileSync('npm', ['pack', '--silent', '--pack-destination', resolve(folder)], { cwd: stage, encoding: 'utf8' }).trim()
  rmSync(stage, { recursive: true })
  return join(resolve(folder), name)
}

function packageManifest() {
  const { name, version, description, license, engines, overrides } = readJson('package.json')
  const { dependencies, optionalDependencies } = readJson('server/package.json')
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    engines,
    bin: { sterna: 'bin/sterna.mjs' },
    dependencies,
    optionalDependencies,
    overrides: { 'light-my-request': overrides['light-my-request'] },
  }
}

/** Names, versions and licences of the packages that come with an installation. */
function notices() {
  const lines = listPackages(readJson('package-lock.json')).map(
    ({ name, version, license }) => `| ${name} | ${version} | ${license ?? 'see the package'} |`,
  )
  const intro = 'Sterna is installed with these packages. Each contains its licence.'
  return ['# Notices', '', intro, '', '| package | version | licence |', '|---|---|---|', ...lines, ''].join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await pack(process.argv[2] ?? join(ROOT, 'release')))
