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
  const [, user_ = '', database = ''] = /\/\/([^:@]+).*\/(\w+)\?/.exec(databaseUrl) ?? []
  return {
    url: `postgres://${user_}@127.0.0.1:${port}/${database}`,
    async stop() {
      child.kill('SIGKILL')
      await exited
      destroyTestFolder(folder)
    },
  }
}

type Run = { databaseUrl: string; port: number; mode: string; folder: string }

/** The file with the settings of this run in place of its own. Everything else stays as it is. */
export function iniFor(ini: string, { databaseUrl, port, mode, folder }: Run) {
  const { username, password, searchParams } = new URL(databaseUrl.replace('@/', '@localhost/'))
  const own = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    auth_type: 'any',
    auth_file: '',
    pool_mode: mode,
    logfile: join(folder, 'pgbouncer.log'),
    pidfile: join(folder, 'pgbouncer.pid'),
    unix_socket_dir: '',
  }
  const kept = ini
    .replace(/^\[databases\][^[]*/m, '')
    .split('\n')
    .filter((line) => !Object.keys(own).some((name) => new RegExp(`^\\s*${name}\\s*=`).test(line)))
    .join('\n')
  const database = new URL(databaseUrl.replace('@/', '@localhost/')).pathname.slice(1)
  const server = `${database} = host=${searchParams.get('host')} user=${username} password=${password} dbname=${database}`
  const settings = Object.entries(own).map(([name, value]) => `${name} = ${value}`)
  return `[databases]\n${server}\n${kept.trim()}\n${settings.join('\n')}\n`
}

const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
