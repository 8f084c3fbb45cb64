import { sql } from 'kysely'
import { afterAll, beforeAll, expect } from 'vitest'
import { type Answer, useApp } from '../support/app.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'

export type Project = Awaited<ReturnType<ReturnType<typeof useApp>['newProject']>>
export type Published = {
  type: string
  name: string
  value: string
  priority?: number
  purpose: string
  required: boolean
  status: string
  found: string[]
}

/** An installation with a relay and a DNS server of its own, and requests about domains. Call at the top level. */
export function useDomains() {
  const env: Record<string, string> = {
    SMTP_URL: 'smtp://user:relay-password@relay.example:587',
    PUBLIC_URL: 'http://sterna.example:3000',
    RATE_LIMIT_PER_MINUTE: '0',
  }
  const dns = {} as Awaited<ReturnType<typeof startDnsServer>>
  beforeAll(async () => {
    Object.assign(dns, await startDnsServer())
    env.DNS_SERVERS = dns.address
  })
  afterAll(() => dns.stop())
  const sterna = useApp({ env })

  let names = 0
  const newName = () => `domain${++names}.example`

  const post = (project: Project, domain: string, more: object = {}) =>
    sterna.call('POST', '/domains', { key: project.sk, body: { domain, ...more } })

  /** Adds a domain without scheduled checks: the test decides when it is checked. */
  async function add(project: Project, domain = newName()): Promise<Answer['body']> {
    const { status, body } = await post(project, domain)
    expect([status, body.domain]).toEqual([201, domain])
    await sql`update domains set next_check_at = 'infinity' where project_id = ${project.id}`.execute(sterna.db)
    return body
  }

  const dkimOf = (domain: { records: Published[] }) => domain.records.find(({ purpose }) => purpose === 'dkim')!

  /** Split into strings of at most 255 characters, as in a zone. */
  const inStrings = (text: string) => text.match(/.{1,200}/g)!

  function publish(domain: { records: Published[] }) {
    const { name, value } = dkimOf(domain)
    dns.set(name, { TXT: [inStrings(value)] })
  }
  const withdraw = (domain: { records: Published[] }) => dns.forget(dkimOf(domain).name)

  const ask = (project: Project, id: string) => sterna.call('GET', `/domains/${id}/verify`, { key: project.sk })

  /** A check without a wait for an earlier one. */
  async function check(project: Project, id: string): Promise<Answer['body']> {
    await sql`update domains set check_began_at = null where project_id = ${project.id} and id = ${id}`.execute(sterna.db)
    return (await ask(project, id)).body
  }

  async function addVerified(project: Project, name = newName()) {
    const domain = await add(project, name)
    publish(domain)
    expect((await check(project, domain.id)).status).toBe('verified')
    return domain
  }

  const list = async (project: Project) => (await sterna.call('GET', '/domains/project/current', { key: project.sk })).body

  return { env, dns, sterna, newName, post, add, dkimOf, inStrings, publish, withdraw, ask, check, addVerified, list }
}
