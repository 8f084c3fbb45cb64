import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

/** Installs a packed package into a folder, with the dependencies of this clone, by links: those that the package lists, and no others. */
export async function installFromClone(file: string, work: string) {
  const modules = join(work, 'node_modules')
  const place = join(modules, 'sterna')
  mkdirSync(join(place, 'node_modules'), { recursive: true })
  mkdirSync(join(modules, '.bin'))
  await promisify(execFile)('tar', ['-xzf', file, '-C', place, '--strip-components=1'])
  symlinkSync('../sterna/bin/sterna.mjs', join(modules, '.bin/sterna'))
  chmodSync(join(place, 'bin/sterna.mjs'), 0o755)
  const { packages } = JSON.parse(readFileSync(join(place, 'npm-shrinkwrap.json'), 'utf8'))
  const wanted = Object.keys(packages).filter((path) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path))
  for (const path of wanted) {
    // Of the server first: the tests have another PostgreSQL beside it.
    const found = [`server/${path}`, path].map((each) => join(ROOT, each)).find((each) => existsSync(each))
    // Of another platform.
    if (!found) continue
    mkdirSync(dirname(join(place, path)), { recursive: true })
    symlinkSync(found, join(place, path))
  }
}
