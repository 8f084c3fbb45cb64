import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from '../../lib/errors/config-error.ts'
import { syncFolder } from '../../lib/make-folder.ts'
import type { Binaries } from './binaries.ts'
import type { UnixUser } from './home.ts'
import { killStrays } from './processes.ts'

/** The embedded PostgreSQL. `user`: the user it runs as, if not our own. */
export type Cluster = { binaries: Binaries; folder: string; socketFolder: string; password: string; user?: UnixUser }

/** Not our own environment: PGOPTIONS or a locale would change its behaviour. */
export const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC' }

export const dataFolder = (folder: string) => join(folder, 'data')

/** The application's role owns its database and is not a superuser: an SQL injection must not become `copy … to program`. */
export const clusterUrl = ({ password, socketFolder }: Pick<Cluster, 'password' | 'socketFolder'>, role = 'sterna', database = role) =>
  `postgres://${role}:${password}@/${database}?host=${encodeURIComponent(socketFolder)}`

/** Atomic: built in a draft folder and renamed, so a kill at any moment leaves only a draft to remove. */
export async function createCluster(cluster: Cluster, { signal, durable = true }: { signal?: AbortSignal; durable?: boolean } = {}) {
  await sweepDrafts(cluster.folder)
  const draft = join(cluster.folder, `draft-${randomBytes(6).toString('hex')}`)
  const passwordFile = join(draft, 'password')
  await mkdir(draft, { mode: 0o700 })
  try {
    await writeFile(passwordFile, cluster.password, { mode: 0o600 })
    give(cluster.user, draft, passwordFile)
    const access = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
    const storage = [...locale(cluster.binaries), '--data-checksums', ...(durable ? [] : ['--no-sync'])]
    await run(cluster, 'initdb', ['-D', dataFolder(draft), ...access, ...storage], { cwd: draft, signal })
    await runSingleUser(cluster, draft, [`create role sterna login password '${cluster.password}'`, 'create database sterna owner sterna'])
    await rename(dataFolder(draft), dataFolder(cluster.folder))
    await syncFolder(cluster.folder)
  } finally {
    await removeDraft(draft)
  }
}

/** Sorts by code point, the same on every machine and after system upgrades, and usable for `like 'prefix%'`; letter case as in Unicode. */
const locale = ({ major }: Binaries) => [
  '--encoding=UTF8',
  '--locale=C',
  ...(major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []),
]

export async function sweepDrafts(folder: string) {
  const drafts = (await readdir(folder)).filter((name) => name.startsWith('draft-'))
  for (const name of drafts) await removeDraft(join(folder, name))
}

async function removeDraft(draft: string) {
  killStrays(draft)
  // Retried, because an initdb that is not visible to us may still write.
  await rm(draft, { recursive: true, force: true, maxRetries: 10 })
}

/** For a cluster whose password was lost with the rest of DATA_DIR. */
export const setDatabasePassword = (cluster: Cluster) =>
  runSingleUser(
    cluster,
    cluster.folder,
    ['postgres', 'sterna'].map((role) => `alter role ${role} password '${cluster.password}'`),
  )

/** Runs statements, one per line, without a running server. */
const runSingleUser = (cluster: Cluster, folder: string, statements: string[]) =>
  run(cluster, 'postgres', ['--single', '-D', dataFolder(folder), '-c', 'exit_on_error=on', 'postgres'], {
    cwd: folder,
    input: `${statements.join('\n')}\n`,
  })

function run(
  cluster: Cluster,
  program: string,
  args: string[],
  { cwd, input, signal }: { cwd: string; input?: string; signal?: AbortSignal },
) {
  const options = { ...cluster.user, cwd, signal, env: ENVIRONMENT }
  return new Promise<void>((resolve, reject) => {
    const child = execFile(join(cluster.binaries.folder, 'bin', program), args, options, (err, stdout, stderr) => {
      if (!err) return resolve()
      reject(signal?.aborted ? err : new ConfigError(`${program} failed: ${whyNotRun(err) ?? (stderr || stdout).trim().slice(-2_000)}`))
    })
    child.stdin?.on('error', () => {}) // it ended early; its exit has the reason
    child.stdin?.end(input)
  })
}

/** Why the program could not be started; undefined if it was. */
export function whyNotRun(err: { code?: unknown; message: string }) {
  if (err.code === 'ENOENT')
    return `${err.message}. This PostgreSQL needs glibc, which Alpine Linux lacks: set DATABASE_URL to use a PostgreSQL server.`
  return typeof err.code === 'string' ? err.message : undefined
}

export function give(user: UnixUser | undefined, ...paths: string[]) {
  if (user) for (const path of paths) chownSync(path, user.uid, user.gid)
}
