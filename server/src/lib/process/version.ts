import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { VERSION } from './version-number.ts'

/** The folder of the package: that of the repository, or of an installation. */
function findRoot(): string | undefined {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json')
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name === 'sterna') return folder
  }
  return undefined
}

/** The version of Sterna and, in a clone of the repository, the commit. */
export async function readVersion(): Promise<{ version: string; commit: string | undefined }> {
  const root = findRoot()
  return { version: VERSION, commit: root && existsSync(join(root, '.git')) ? await readCommit(root) : undefined }
}

/** Undefined without git, and where git refuses a repository of another user. */
const readCommit = (root: string) =>
  promisify(execFile)('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, timeout: 2_000 }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )
