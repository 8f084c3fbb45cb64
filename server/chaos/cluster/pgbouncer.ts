import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, readFileSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { unprivilegedUser } from '../../src/db/embedded/home.ts'
import { destroyTestFolder, newTestFolder } from '../../test/support/postgres.ts'
import { freePort } from '../../test/support/process.ts'
import { until } from '../support/until.ts'
import { findTool } from './tools.ts'

const INI = new URL('../../../deploy/pgbouncer.ini', import.meta.url)
const STARTS_MS = 10_000
/** What a pooler must not refuse in session mode; see docs/operating.md. */
export const SESSION_IGNORES = ['extra_float_digits', 'options', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']

/** PgBouncer with the file of this repository: only the server, the port and the passwords are those of the run. */
export async function startPgBouncer(databaseUrl: string, mode: 'transaction' | 'session') {
  const folder = newTestFolder()
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, iniFor(readFileSync(INI, 'utf8'), { databaseUrl, port, mode, folder }))
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined
  if (user) for (const path of [folder, file]) chownSync(path, user.uid, user.gid)
  const child = spawn(findTool('pgbouncer')!.path, [file], { ...user, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const exited = once(child, 'exit')
  await until('PgBouncer listens', STARTS_MS, () => accepts(port)).catch((err: Error) => {
    throw new Error(`${err.message}: ${output.slice(-500)}`)
  })
  return {
    url: `postgres://sterna@127.0.0.1:${port}/sterna`,
    async stop() {
      child.kill('SIGKILL')
      await exited
      destroyTestFolder(folder)
    },
  }
}

type Run = { databaseUrl: string; port: number; mode: string; folder: string }

/** The file with the server, the port and the paths of this run in place of its own. Everything else stays as it is. */
function iniFor(ini: string, { databaseUrl, port, mode, folder }: Run) {
  const { username, password, searchParams } = new URL(databaseUrl.replace('@/', '@localhost/'))
  const own: Record<string, string> = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    auth_type: 'any',
    pool_mode: mode,
    logfile: join(folder, 'pgbouncer.log'),
    pidfile: join(folder, 'pgbouncer.pid'),
    unix_socket_dir: '',
    // In session mode the documentation says so.
    ...(mode === 'session' ? { ignore_startup_parameters: SESSION_IGNORES.join(','), default_pool_size: '100' } : {}),
  }
  const isOwn = (line: string) => Object.keys(own).some((name) => line.startsWith(`${name} =`)) || line.startsWith('auth_file')
  const kept = ini
    .split('\n')
    .filter((line) => !isOwn(line))
    .map((line) =>
      line.replace(/^(sterna =) host=\S+ port=\S+/, `$1 host=${searchParams.get('host')} user=${username} password=${password}`),
    )
  const settings = Object.entries(own).map(([name, value]) => `${name} = ${value}`)
  return `${[...kept, ...settings].join('\n')}\n`
}

const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
