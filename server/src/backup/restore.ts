import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { findBinaries } from '../db/embedded/binaries.ts'
import { dataFolder, give } from '../db/embedded/cluster.ts'
import { findHome, openHome, serverUser, writePointer } from '../db/embedded/home.ts'
import type { Config } from '../lib/config.ts'
import { ConfigError } from '../lib/errors/config-error.ts'
import { uploadFolderOf } from '../uploads/storage.ts'
import { MANIFEST, type Manifest, SINGLE_FILES } from './back-up.ts'
import { copyFile } from './copy-file.ts'
import { markRestored } from './restored-mark.ts'

/**
 * Makes a DATA_DIR without a database from a backup. The next start recovers the database, and sends nothing until a person confirms:
 * emails that wait in it may have been sent since the backup.
 */
export async function restore(config: Config, source: string): Promise<Manifest> {
  if (config.databaseUrl) throw new ConfigError('DATABASE_URL is set: restore that server, with its own tools. See docs/operating.md.')
  const manifest = await readManifest(source)
  if (existsSync(config.dataDir) && findHome(config.dataDir))
    throw new ConfigError(`${config.dataDir} has a database. Restore into another DATA_DIR, or move this one away.`)
  const home = openHome(config.dataDir)
  const { major } = findBinaries()
  if (major !== manifest.postgres)
    throw new ConfigError(
      `The backup is of PostgreSQL ${manifest.postgres}, this version of Sterna has ${major}. Use the Sterna that made it.`,
    )
  const user = serverUser(home)
  const draft = join(home.folder, 'draft-restore')
  await rm(draft, { recursive: true, force: true })
  const placeOf = (path: string) =>
    path.startsWith('database/') ? join(draft, 'data', path.slice('database/'.length)) : placeBeside(config, path)
  await mkdir(join(draft, 'data'), { recursive: true, mode: 0o700 })
  const made = [draft, join(draft, 'data')]
  for (const folder of manifest.folders) {
    const place = placeOf(folder)
    await mkdir(place, { recursive: true, mode: 0o700 })
    if (folder.startsWith('database/')) made.push(place)
  }
  for (const { path, bytes, sha256 } of manifest.files) {
    const copied = await copyFile(join(source, path), placeOf(path))
    if (copied?.sha256 !== sha256 || copied.bytes !== bytes) throw new ConfigError(`${join(source, path)} is missing or damaged.`)
    if (path.startsWith('database/')) made.push(placeOf(path))
  }
  give(user, ...made)
  // Before the database is there: a start between the two would send.
  await markRestored(config.dataDir, manifest.createdAt)
  await rename(join(draft, 'data'), dataFolder(home.folder))
  await rm(draft, { recursive: true, force: true })
  writePointer(home)
  return manifest
}

/** Not any path: a manifest may come from elsewhere. */
function placeBeside(config: Config, path: string) {
  if (path.startsWith('uploads/')) return join(uploadFolderOf(config), path.slice('uploads/'.length))
  if (SINGLE_FILES.includes(path)) return join(config.dataDir, path)
  throw new ConfigError(`The backup contains ${path}, which no backup of Sterna does.`)
}

async function readManifest(source: string): Promise<Manifest> {
  const text = await readFile(join(source, MANIFEST), 'utf8').catch(() => {
    throw new ConfigError(`${source} is not a complete backup: it has no ${MANIFEST}.`)
  })
  const manifest = JSON.parse(text) as Manifest
  if (manifest.format !== 1)
    throw new ConfigError(`The backup has the format ${manifest.format}, which this version of Sterna does not know.`)
  const paths = [...manifest.folders, ...manifest.files.map(({ path }) => path)]
  const odd = paths.find((path) => path.split('/').includes('..') || path.startsWith('/'))
  if (odd) throw new ConfigError(`The backup contains ${odd}, which no backup of Sterna does.`)
  return manifest
}
