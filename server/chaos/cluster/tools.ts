import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A program of this machine. Without `version` it is there, and cannot be run. */
export type Tool = { path: string; version?: string }

const DEBIAN = '/usr/lib/postgresql'
const folders = () => [
  ...(process.env.PATH ?? '').split(delimiter),
  // Debian has daemons where only root's PATH looks, and a folder for each version of PostgreSQL.
  '/usr/sbin',
  '/usr/local/sbin',
  ...(existsSync(DEBIAN) ? readdirSync(DEBIAN).map((version) => join(DEBIAN, version, 'bin')) : []),
]

export function findTool(name: string): Tool | undefined {
  const path = folders()
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file))
  if (!path) return undefined
  const version = versionOf(path)
  return version === undefined ? { path } : { path, version: `${name} ${version}` }
}

function versionOf(path: string) {
  try {
    const output = execFileSync(path, [path.endsWith('haproxy') ? '-v' : '--version'], { encoding: 'utf8', stdio: 'pipe' })
    return /\d+\.\d[\w.]*/.exec(output)?.[0]
  } catch {
    return undefined
  }
}
