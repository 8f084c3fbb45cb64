import { sql } from 'kysely'
import type { Pool } from '../../src/db/index.ts'

/** Signs a user up, and creates a project. `cookie` is the session of the user. */
export async function newProject(url: string, owner = 'chaos') {
  const post = (path: string, body: object, cookie = '') =>
    fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json', cookie }, body: JSON.stringify(body) })
  const signedUp = await post('/auth/signup', { email: `${owner}@example.com`, password: 'only for this run' })
  const cookie = signedUp.headers.get('set-cookie')!.split(';')[0]!
  const created = await post('/users/@me/projects', { name: 'Chaos' }, cookie)
  return { cookie, ...((await created.json()) as { id: string; public: string; secret: string }) }
}

/** Adds a domain, and marks it as verified by DNS. */
export async function verifyDomain(db: Pool, url: string, project: { id: string; secret: string; domain: string }) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${project.secret}` }
  await fetch(`${url}/domains`, { method: 'POST', headers, body: JSON.stringify({ domain: project.domain }) })
  await sql`
    update domains set status = 'verified', verified_by = 'dns', verified_at = now(), next_check_at = 'infinity'
    where project_id = ${project.id}
  `.execute(db)
}
