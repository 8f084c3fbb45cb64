import { createHash } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ConfigError } from '../../lib/errors/config-error.ts'
import { makeFolder } from '../../lib/make-folder.ts'

export type UnixUser = { uid: number; gid: number }

/** The folder of the database of a DATA_DIR: `data` (the cluster), `run` (its socket), `lock`, `postgres.log`. */
export type Home = { folder: string; dataDir: string; isRoot: boolean }

/** For root only. */
export const SYSTEM_FOLDER = '/var/lib/sterna'

const pointerFile = (dataDir: string) => join(dataDir, 'postgres.location')

// statSync, because existsSync is false for a folder that we may not enter.
export const hasCluster = (folder: string) => statSync(join(folder, 'data', 'PG_VERSION'), { throwIfNoEntry: false }) !== undefined

/** The folder of this DATA_DIR's database, if it has one. */
export function findHome(dataDir: string): string | undefined {
  const pointer = pointerFile(dataDir)
  const folder = existsSync(pointer) ? readFileSync(pointer, 'utf8').trim() : join(dataDir, 'postgres')
  return hasCluster(folder) ? folder : undefined
}

export function openHome(givenDataDir: string): Home {
  makeFolder(resolve(givenDataDir))
  const dataDir = realpathSync(givenDataDir)
  const isRoot = process.getuid?.() === 0
  const folder = findHome(dataDir) ?? newHome(dataDir, isRoot)
  makeFolder(folder, 0o700)
  // The user of the server must have access, whatever root's umask is.
  if (isRoot) for (const path of dirname(folder) === SYSTEM_FOLDER ? [SYSTEM_FOLDER, folder] : [folder]) chmodSync(path, 0o755)
  return { folder, dataDir, isRoot }
}

/**
 * Inside DATA_DIR if possible, so that a mounted volume or a backup of DATA_DIR contains the database. But PostgreSQL refuses to run as
 * root, and its unprivileged user cannot enter a 0700 folder such as root's home.
 */
function newHome(dataDir: string, isRoot: boolean) {
  const pointer = pointerFile(dataDir)
  if (existsSync(pointer)) {
    throw new ConfigError(
      `The database of ${dataDir} is missing: ${pointer} says that it is in ${readFileSync(pointer, 'utf8').trim()}. ` +
        'Restore it, or delete that file to start with an empty database.',
    )
  }
  if (!isRoot || canReach(unprivilegedUser(), dataDir)) return join(dataDir, 'postgres')
  return join(SYSTEM_FOLDER, createHash('sha256').update(dataDir).digest('hex').slice(0, 16))
}

/** Only after the cluster exists: a pointer to a missing folder means lost data, and stops the start. */
export function writePointer({ folder, dataDir }: Home) {
  if (dirname(folder) !== dataDir) writeFileSync(pointerFile(dataDir), `${folder}\n`)
}

/** The user of PostgreSQL when we are root: the owner of the cluster, so that one `sudo npm start` does not lock that user out. */
export function serverUser({ folder, isRoot }: Home): UnixUser | undefined {
  if (!isRoot) return undefined
  const owner = hasCluster(folder) ? statSync(join(folder, 'data')) : undefined
  return owner?.uid ? { uid: owner.uid, gid: owner.gid } : unprivilegedUser()
}

/** A user with an entry in the password file, because initdb looks up its own. */
export function unprivilegedUser(): UnixUser {
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = accounts.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    // macOS writes nobody as -2.
    if (uid && gid) return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }
  }
  throw new ConfigError(
    'PostgreSQL refuses to run as root, and there is no user "postgres" or "nobody" to run it as. Start Sterna as another user, or set DATABASE_URL.',
  )
}

/** By the mode bits only; where other rules deny access, PostgreSQL's own message names the path. */
export function canReach(user: UnixUser, path: string): boolean {
  const { mode, uid, gid } = statSync(path)
  const bits = uid === user.uid ? mode >> 6 : gid === user.gid ? mode >> 3 : mode
  return (bits & 1) === 1 && (path === '/' || canReach(user, dirname(path)))
}
