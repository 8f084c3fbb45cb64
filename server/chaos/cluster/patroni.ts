import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { unprivilegedUser } from '../../src/db/embedded/home.ts'
import { killStrays } from '../../src/db/embedded/processes.ts'
import { destroyTestFolder, newTestFolder, runSql } from '../../test/support/postgres.ts'
import { freePort } from '../../test/support/process.ts'
import { until } from '../support/until.ts'
import { type Load, type Ran, runChange } from './failovers.ts'
import { findTool } from './tools.ts'

export const PATRONI = '8. Patroni, etcd and HAProxy: kill -9 of the leader, then a switchover'

/** `ttl` is the least that Patroni allows: a leader that does not answer stays the leader for that many seconds. */
const DCS = { ttl: 20, loop_wait: 2, retry_timeout: 5, synchronous_mode: true, postgresql: { parameters: { max_connections: 200 } } }
const PASSWORD = 'only-for-this-run'
const WITHIN_MS = 90_000
const MEMBERS = ['a', 'b', 'c']

type Member = { name: string; folder: string; port: number; rest: number }

export async function runPatroni(name: string, load: Load): Promise<Ran> {
  const cluster = await startPatroni()
  const run = (isPlanned: boolean) => {
    const change = async () => {
      const former = (await cluster.leader())!
      await (isPlanned ? cluster.switchOver(former) : cluster.kill(former))
      await until('another member leads', WITHIN_MS, async () => ![undefined, former].includes(await cluster.leader()))
      return performance.now()
    }
    return runChange({ name, plan: { synchronous: true, isPlanned }, url: cluster.url, change }, load)
  }
  try {
    const [killed, switched] = [await run(false), await run(true)]
    return {
      figures: `killed: ${killed.figures}. Switched over: ${switched.figures}`,
      problems: [...killed.problems, ...switched.problems],
    }
  } finally {
    cluster.remove()
  }
}

/** Three members, one etcd, and HAProxy in front of the member that leads. */
async function startPatroni() {
  const folder = newTestFolder()
  const programs = new Map<string, ChildProcess>()
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined
  const run = (name: string, tool: string, args: string[]) =>
    programs.set(name, spawn(findTool(tool)!.path, args, { ...user, cwd: folder, stdio: 'ignore' }))
  const remove = () => {
    for (const program of programs.values()) program.kill('SIGKILL')
    killStrays(folder)
    destroyTestFolder(folder)
  }
  process.once('exit', remove)
  const ports = { etcd: await freePort(), peers: await freePort(), proxy: await freePort() }
  const members: Member[] = []
  for (const name of MEMBERS) members.push({ name, folder: newFolder(folder, name, user), port: await freePort(), rest: await freePort() })

  const [clients, peers] = [`http://127.0.0.1:${ports.etcd}`, `http://127.0.0.1:${ports.peers}`]
  const listens = ['--listen-client-urls', clients, '--advertise-client-urls', clients, '--listen-peer-urls', peers]
  run('etcd', 'etcd', ['--data-dir', newFolder(folder, 'etcd', user), ...listens])
  for (const member of members) {
    const file = join(folder, `${member.name}.yml`)
    // JSON is YAML, too.
    writeFileSync(file, JSON.stringify(configOf(member, ports.etcd)))
    run(member.name, 'patroni', [file])
  }
  const haproxy = join(folder, 'haproxy.cfg')
  writeFileSync(haproxy, haproxyConfig(members, ports.proxy))
  run('haproxy', 'haproxy', ['-db', '-f', haproxy])

  const roles = async () => rolesOf(members)
  const leader = async () => (await roles()).find(({ role }) => role === 'leader')?.name
  await until('Patroni has a leader and a synchronous standby', WITHIN_MS, async () => {
    const states = await roles()
    return states.length === MEMBERS.length && states.some(({ role }) => role === 'sync_standby')
  })
  const first = await leader()
  const admin = `postgres://postgres:${PASSWORD}@127.0.0.1:${members.find(({ name }) => name === first)!.port}/postgres`
  await runSql(admin, `create role sterna login password '${PASSWORD}'`)
  await runSql(admin, 'create database sterna owner sterna')

  return {
    url: `postgres://sterna:${PASSWORD}@127.0.0.1:${ports.proxy}/sterna`,
    leader,
    async switchOver(from: string) {
      const { rest } = members.find(({ name }) => name === from)!
      const answer = await fetch(`http://127.0.0.1:${rest}/switchover`, { method: 'POST', body: JSON.stringify({ leader: from }) })
      if (!answer.ok) throw new Error(`Patroni does not switch over: ${await answer.text()}`)
    },
    /** Patroni and its PostgreSQL, as when the machine loses power. */
    async kill(name: string) {
      programs.get(name)!.kill('SIGKILL')
      killStrays(members.find((member) => member.name === name)!.folder)
    },
    remove,
  }
}

function newFolder(parent: string, name: string, user: { uid: number; gid: number } | undefined) {
  const path = join(parent, name)
  mkdirSync(path, { mode: 0o700 })
  if (user) chownSync(path, user.uid, user.gid)
  return path
}

/** The members and their roles, asked of the first one that answers. */
async function rolesOf(members: Member[]): Promise<{ name: string; role: string }[]> {
  for (const { rest } of members) {
    const answer = await fetch(`http://127.0.0.1:${rest}/cluster`).then(
      (reply) => reply.json(),
      () => undefined,
    )
    if (answer) return (answer as { members: { name: string; role: string }[] }).members
  }
  return []
}

const configOf = ({ name, folder, port, rest }: Member, etcd: number) => ({
  scope: 'sterna',
  name,
  restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${rest}` },
  etcd3: { host: `127.0.0.1:${etcd}` },
  bootstrap: { dcs: DCS, initdb: [{ encoding: 'UTF8' }, { locale: 'C' }] },
  postgresql: {
    listen: `127.0.0.1:${port}`,
    connect_address: `127.0.0.1:${port}`,
    data_dir: join(folder, 'data'),
    bin_dir: dirname(findTool('pg_basebackup')!.path),
    pgpass: join(folder, 'pgpass'),
    authentication: {
      superuser: { username: 'postgres', password: PASSWORD },
      replication: { username: 'replicator', password: PASSWORD },
    },
    pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 md5', 'host replication all 127.0.0.1/32 md5'],
    parameters: { unix_socket_directories: folder },
  },
})

/** As Patroni's documentation has it: only the leader answers 200 to `OPTIONS /primary`. */
const haproxyConfig = (members: Member[], port: number) => `defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${members.map(({ name, port: server, rest }) => `  server ${name} 127.0.0.1:${server} check port ${rest}`).join('\n')}
`
