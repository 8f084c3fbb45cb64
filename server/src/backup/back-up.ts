import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFolder } from '../db/embedded/cluster.ts'
import { adminUrlOf } from '../db/embedded/embedded.ts'
import { findHome } from '../db/embedded/home.ts'
import { borrowDatabase } from '../db/open.ts'
import { withClient } from '../db/with-client.ts'
import type { Config } from '../lib/config.ts'
import { ConfigError } from '../lib/errors/config-error.ts'
import { createLog } from '../lib/process/log.ts'
import { uploadFolderOf } from '../uploads/storage.ts'
import { type CopiedFile, copyFile, listTree } from './copy-file.ts'

/** Contents of a backup. `folders`: also empty ones, without which PostgreSQL does not start. */
export type Manifest = { format: 1; createdAt: string; postgres: number; folders: string[]; files: CopiedFile[] }

export const MANIFEST = 'manifest.json'
/** Files of DATA_DIR that a backup contains besides the database and the images. */
export const SINGLE_FILES = ['secret.key', 'postgres.password']

/**
 * Copies the embedded database, the images and the secret key into a new folder, while Sterna runs or not. The database is copied file by file
 * between `pg_backup_start` and `pg_backup_stop`, with the WAL of that time: restored, it is as it was at the end of the copy.
 */
export async function backUp(config: Config, target: string): Promise<Manifest> {
  if (config.databaseUrl)
    throw new ConfigError('DATABASE_URL is set: back up that server, with pg_dump or a base backup, and SECRET_KEY. See docs/operating.md.')
  await makeEmptyFolder(target)
  const database = await borrowDatabase(config, createLog('warn'))
  try {
    const copy = newCopy(target)
    const version = await copyDatabase(database.url, dataFolder(homeOf(config)), copy)
    // After the database: an image is written before its row.
    if (!config.s3 && existsSync(uploadFolderOf(config))) await copy.tree(uploadFolderOf(config), 'uploads')
    for (const name of SINGLE_FILES) if (existsSync(join(config.dataDir, name))) await copy.file(join(config.dataDir, name), name)
    const manifest: Manifest = { format: 1, createdAt: new Date().toISOString(), postgres: version, ...copy.copied }
    // Last: a backup without it is incomplete.
    await writeFile(join(target, MANIFEST), JSON.stringify(manifest), { mode: 0o600, flush: true })
    return manifest
  } finally {
    await database.stop()
  }
}

async function makeEmptyFolder(target: string) {
  await mkdir(target, { recursive: true, mode: 0o700 })
  if ((await readdir(target)).length) throw new ConfigError(`${target} is not empty. Each backup needs a folder of its own.`)
}

const homeOf = ({ dataDir }: Config) => {
  const folder = findHome(dataDir)
  if (!folder) throw new ConfigError(`There is no database in ${dataDir}.`)
  return folder
}

type Copy = ReturnType<typeof newCopy>

function newCopy(target: string) {
  const copied: Pick<Manifest, 'folders' | 'files'> = { folders: [], files: [] }
  const file = async (from: string, path: string) => {
    const found = await copyFile(from, join(target, path))
    if (found) copied.files.push({ path, ...found })
  }
  return {
    copied,
    file,
    async tree(from: string, to: string, isLeftOut?: (path: string) => boolean) {
      for (const path of await listTree(from, isLeftOut)) {
        if (path.endsWith('/')) copied.folders.push(join(to, path))
        else await file(join(from, path), join(to, path))
      }
    },
    async text(path: string, content: string) {
      await writeFile(join(target, `${path}.part`), content, { mode: 0o600 })
      await file(join(target, `${path}.part`), path)
    },
  }
}

/** Contents that belong to the running server, which makes them again. Their folders must exist. */
const TRANSIENT = ['pg_dynshmem', 'pg_notify', 'pg_replslot', 'pg_serial', 'pg_snapshots', 'pg_stat_tmp', 'pg_subtrans', 'pg_wal']
const CONTROL = 'global/pg_control'

function isLeftOut(path: string) {
  if (['postmaster.pid', 'postmaster.opts', 'backup_label', 'tablespace_map', CONTROL].includes(path)) return true
  if (path.split('/').some((name) => name.startsWith('pgsql_tmp') || name === 'pg_internal.init')) return true
  return TRANSIENT.some((folder) => path.startsWith(`${folder}/`) && path !== 'pg_wal/archive_status' && path !== 'pg_wal/summaries')
}

/** Returns the major version of PostgreSQL. */
const copyDatabase = (url: string, folder: string, copy: Copy): Promise<number> =>
  withClient(adminUrlOf(url), 'sterna-backup', async (client) => {
    const version = Number((await client.query(`select current_setting('server_version_num') as version`)).rows[0].version)
    // Keeps the WAL from here on, as long as this connection lasts.
    await client.query(`select pg_create_physical_replication_slot('sterna_backup_' || pg_backend_pid(), true, true)`)
    const first = (await client.query(`select pg_walfile_name(pg_backup_start('sterna', true)) as file`)).rows[0].file as string
    await copy.tree(folder, 'database', isLeftOut)
    await copy.file(join(folder, CONTROL), join('database', CONTROL))
    const { rows } = await client.query<{ label: string; last: string }>(
      'select labelfile as label, pg_walfile_name(lsn) as last from pg_backup_stop(false)',
    )
    const { label, last } = rows[0]!
    await copy.text('database/backup_label', label)
    const isNeeded = (name: string) => /^[0-9A-F]{24}$/.test(name) && name >= first && name <= last
    const segments = (await readdir(join(folder, 'pg_wal'))).filter(isNeeded)
    for (const name of segments.toSorted()) await copy.file(join(folder, 'pg_wal', name), join('database/pg_wal', name))
    return Math.floor(version / 10_000)
  })
