import { randomBytes, randomUUID } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { openSession } from '../../src/auth/sessions.ts'
import { transact } from '../../src/db/index.ts'
import type { Caller, Role, RouteDeclaration } from '../../src/http/auth/declaration.ts'
import { missingScope, SCOPES, type Scope } from '../../src/http/auth/scopes.ts'
import { newId } from '../../src/lib/id.ts'
import { randomToken } from '../../src/lib/secrets.ts'
import { newKeys, storeKeys } from '../../src/projects/api-keys/keys.ts'
import { fewAtOnce } from '../support/api/few-at-once.ts'
import { probe } from '../support/api/probe.ts'
import { type Answer, useApp } from '../support/app.ts'

type Route = {
  method: string
  url: string
  caller: Caller | '-'
  role: Role | '-'
  takesBody: boolean
  /** Its handler verifies the key again, so the hook may find it in a cache. */
  keyCheckedLater: boolean
  audit: string
  onlyReads: boolean
} & Pick<RouteDeclaration, 'scope' | 'read' | 'senders' | 'stops'>

const routes: Route[] = []
let withProbes: FastifyInstance | undefined

// Fastify registers every instance before its first route, so this hook sees all routes.
subscribe('fastify.initialization', (message) => {
  const { fastify } = message as { fastify: FastifyInstance }
  withProbes = fastify
  fastify.addHook('onRoute', ({ method, url, config, schema }: RouteOptions) => {
    const { caller = '-', keyCheckedLater = false, onlyReads = false, scope = null, read = false } = config ?? {}
    const { senders = 'none', stops = 'never' } = config ?? {}
    for (const each of [method].flat())
      routes.push({
        method: each,
        url,
        caller,
        role: config?.role ?? '-',
        takesBody: schema?.body !== undefined,
        keyCheckedLater,
        audit: config?.audit ?? '-',
        onlyReads,
        scope,
        read,
        senders,
        stops,
      })
  })
})

const sterna = useApp({ withWorker: false, env: { TRUST_PROXY: '127.0.0.1', RATE_LIMIT_PER_MINUTE: '0' }, extend: probe })

const nameOf = ({ method, url }: Route) => `${method} ${url}`
const isProbe = ({ url }: Route) => url.startsWith('/probe/')
const isWrite = ({ method }: Route) => !['GET', 'HEAD', 'OPTIONS'].includes(method)

describe('the list of routes', () => {
  test('is that of the router', () => {
    expect(withProbes).toBe(sterna.app)
    expect(routes.map(nameOf).sort()).toEqual(printed(sterna.app.printRoutes({ commonPrefix: false })).sort())
    expect(new Set(routes.map(nameOf)).size).toBe(routes.length)
  })

  test('has the callers of every route', () => {
    expect(routes.filter(({ caller }) => caller === '-').map(nameOf)).toEqual([])
  })

  test('requires a role only for routes with a session', () => {
    const odd = routes.filter(({ caller, role }) => role !== '-' && caller !== 'session' && caller !== 'project')
    expect(odd).toEqual([])
    // The role of a session is that in the project `:id` of the path.
    expect(routes.filter(({ caller, role, url }) => caller === 'session' && role !== '-' && !url.includes('/:id'))).toEqual([])
    // Routes of a person, and of operators.
    const ofNoProject = ['/users/@me/sessions/:sessionId', '/suspensions/:id/lift']
    const unbound = routes.filter(({ caller, role, url }) => caller === 'session' && role === '-' && url.includes(':'))
    expect(unbound.filter(({ url }) => !ofNoProject.includes(url))).toEqual([])
  })

  test('has a HEAD with the same callers for every GET except logout: a HEAD must change nothing', () => {
    const as = (wanted: string) =>
      routes
        .filter(({ method }) => method === wanted)
        .map(({ url, caller, role }) => `${url} ${caller} ${role}`)
        .sort()
    expect(as('HEAD')).toEqual(as('GET').filter((line) => line !== '/auth/logout anyone -'))
  })

  test('has an audit action for every route that changes something of a project', () => {
    const changing = routes.filter((route) => isWrite(route) && !route.onlyReads && !isProbe(route))
    const ofProjects = changing.filter(
      ({ caller, role }) => caller === 'project' || caller === 'secret-key' || (caller === 'session' && role !== '-'),
    )
    // Events and emails are records of their own.
    expect(
      ofProjects
        .filter(({ audit }) => audit === '-')
        .map(nameOf)
        .sort(),
    ).toEqual(['POST /events/track', 'POST /v1/send'])
    // Besides those of a project: the first of a project, and what others do to it.
    expect(
      changing
        .filter((route) => route.audit !== '-' && !ofProjects.includes(route))
        .map(nameOf)
        .sort(),
    ).toEqual(['POST /auth/accept-invitation', 'POST /suspensions/:id/lift', 'POST /users/@me/projects'])
    expect(routes.filter((route) => route.audit !== '-' && !/^[a-z_]+\.[a-z_]+$/.test(route.audit)).map(nameOf)).toEqual([])
    expect(routes.filter((route) => route.audit !== '-' && !isWrite(route)).map(nameOf)).toEqual([])
  })

  // Shows new and changed routes as a diff; `vitest -u` accepts them.
  test('is the reviewed one', async () => {
    const reviewed = routes.filter((route) => !isProbe(route) && route.method !== 'HEAD')
    const lines = reviewed.map(({ method, url, caller, role, audit }) => `${method} ${url} ${caller} ${role} ${audit}`)
    await expect(`${lines.sort().join('\n')}\n`).toMatchFileSnapshot('./routes.golden.txt')
  })
})

/** Parses the route tree that the router prints: `│   └── /:id (PATCH, DELETE)`. */
function printed(tree: string) {
  const path: string[] = []
  return tree.split('\n').flatMap((line) => {
    const [, indent, part, methods] = /^([│├└─\s]*)(.*?)(?: \(([A-Z, ]+)\))?$/u.exec(line) ?? []
    if (!part) return []
    const depth = indent!.length / 4
    path.splice(depth - 1, path.length, part)
    return (methods?.split(', ') ?? []).map((method) => `${method} ${path.join('')}`)
  })
}

// Credentials ---------------------------------------------------------------------------------------------------------

type Person = Awaited<ReturnType<typeof sterna.newPerson>>
type Project = { id: string; pk: string; sk: string }
type Credential = Record<string, string | string[] | undefined>
/** The expected response of a route. */
type Verdict = 'in' | `${number} ${string}`

const MISSING: Verdict = '401 MISSING_AUTH'
const WRONG: Verdict = '401 INVALID_API_KEY'
const NOBODY: Verdict = '401 UNAUTHORIZED'
const FORBIDDEN: Verdict = '403 FORBIDDEN'
const DENIED: Verdict = '403 PROJECT_ACCESS_DENIED'
const UNNAMED: Verdict = '400 BAD_REQUEST'
const NOT_FOUND: Verdict = '404 RESOURCE_NOT_FOUND'

let owner: Person
let admin: Person
let member: Person
let stranger: Person
let strangers: Project
let revoked: Project
let deleted: Project

beforeAll(async () => {
  const people = await Promise.all(Array.from({ length: 4 }, () => sterna.newPerson({ verified: true })))
  // What only operators may read is tested beside it.
  await sql`update users set operator = true`.execute(sterna.db)
  owner = people[0]!
  admin = people[1]!
  member = people[2]!
  stranger = people[3]!
  strangers = await sterna.newProject(stranger)
  revoked = await sterna.newProject(owner)
  await owner.call('POST', `/users/@me/projects/${revoked.id}/regenerate-keys`)
  deleted = await sterna.newProject(owner)
  // Deleted, but its rows are removed later: its keys must be invalid before that.
  await sql`update projects set deleted_at = now() where id = ${deleted.id}`.execute(sterna.db)
  await endJobsAtOnce()
})

/** Some requests wait for their job or for the wipe of a project: for seconds, because there is no worker. */
const endJobsAtOnce = () =>
  sql`
    create function end_job() returns trigger language plpgsql as $$
      begin new.state := 'completed'; new.finished_at := now(); return new; end
    $$;
    create trigger end_job before insert on jobs for each row execute function end_job();
    create function end_wipe() returns trigger language plpgsql as $$
      begin delete from project_wipes where project_id = new.project_id; return null; end
    $$;
    create trigger end_wipe after insert on project_wipes for each row execute function end_wipe()
  `.execute(sterna.db)

/** A project for one request: an allowed request may delete it. Hundreds are made, so by SQL. */
async function newTarget(): Promise<Project> {
  const keys = newKeys()
  const stored = storeKeys(sterna.secrets, keys)
  const id = newId()
  await sql`
    with project as (
      insert into projects (id, name, public_key_hash, secret_key_hash, public_key_sealed, secret_key_sealed)
      values (${id}, 'Target', ${stored.public_key_hash}, ${stored.secret_key_hash}, ${stored.public_key_sealed}, ${stored.secret_key_sealed})
    ), uncounted as (delete from attempts)
    insert into memberships (project_id, user_id, role)
    values (${id}, ${owner.id}, 'OWNER'), (${id}, ${admin.id}, 'ADMIN'), (${id}, ${member.id}, 'MEMBER')
  `.execute(sterna.db)
  return { id, pk: keys.public, sk: keys.secret }
}

/** An invalid body has no effect, so such requests can share a project. */
const mayChange = (route: Route) => isWrite(route) && !route.takesBody

/** The sessions that the requests to routes of projects share, as none of these routes ends a session. */
const shared = new Map<string, { cookie: Promise<string>; uses: number }>()
let mayShare = false
/** Less than the calls a minute of one session. */
const MAX_USES = 1_000

/** A session for one request, which may end it, unless sessions may be shared. */
function sessionOf(person: Person) {
  if (!mayShare) return newSession(person)
  const known = shared.get(person.id)
  const session = known && known.uses < MAX_USES ? known : { cookie: newSession(person), uses: 0 }
  session.uses++
  shared.set(person.id, session)
  return session.cookie
}

async function newSession({ id }: Person, { expired = false } = {}) {
  const req = { ip: '127.0.0.1', headers: {} } as FastifyRequest // openSession reads only these
  const token = await transact(sterna.db, (tx) => openSession(tx, sterna.secrets, { userId: id, req }))
  if (expired)
    await sql`update sessions set expires_at = now() where token_hash = ${sterna.secrets.hash('session', token)}`.execute(sterna.db)
  return `sterna_session=${token}`
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const flip = (text: string) => text.slice(0, -1) + (text.endsWith('A') ? 'B' : 'A')
const upperCased = (key: string) => key.slice(0, 3) + key.slice(3).toUpperCase()

/** All invalid credentials. `key` is the response of a route that needs a key. */
const STRANGE: [name: string, key: Verdict, make: (project: Project) => Credential | Promise<Credential>][] = [
  ['nothing', MISSING, () => ({})],
  ['an empty header', MISSING, () => ({ authorization: '' })],
  ['an empty bearer', MISSING, () => ({ authorization: 'Bearer ' })],
  ['Basic', MISSING, ({ sk }) => ({ authorization: `Basic ${Buffer.from(`${sk}:`).toString('base64')}` })],
  ['a key without Bearer', MISSING, ({ sk }) => ({ authorization: sk })],
  ['a key in another header', MISSING, ({ sk, pk }) => ({ 'x-api-key': sk, 'api-key': pk })],
  ['a key and more words', MISSING, ({ sk }) => ({ authorization: `Bearer ${sk} ${sk}` })],
  ['garbage', WRONG, () => bearer('garbage')],
  ['a made-up secret key', WRONG, () => bearer(`sk_${randomBytes(32).toString('hex')}`)],
  ['a made-up public key', WRONG, () => bearer(`pk_${randomBytes(32).toString('hex')}`)],
  ['a prefix alone', WRONG, () => bearer('sk_')],
  ['a truncated secret key', WRONG, ({ sk }) => bearer(sk.slice(0, -1))],
  ['a truncated public key', WRONG, ({ pk }) => bearer(pk.slice(0, -1))],
  ['a secret key and one more', WRONG, ({ sk }) => bearer(`${sk}0`)],
  ['a public key and one more', WRONG, ({ pk }) => bearer(`${pk}0`)],
  ['a secret key in capitals', WRONG, ({ sk }) => bearer(upperCased(sk))],
  ['a public key in capitals', WRONG, ({ pk }) => bearer(upperCased(pk))],
  ['a prefix in capitals', WRONG, ({ sk }) => bearer(`SK_${sk.slice(3)}`)],
  ['the prefix of the other key', WRONG, ({ sk }) => bearer(`pk_${sk.slice(3)}`)],
  ['the prefix of the other key, again', WRONG, ({ pk }) => bearer(`sk_${pk.slice(3)}`)],
  ['10 kB', WRONG, () => bearer(`sk_${'a'.repeat(10_000)}`)],
  ['SQL', WRONG, () => bearer(`sk_'or''='`)],
  ['two Authorization headers', WRONG, ({ sk, pk }) => ({ authorization: [`Bearer ${sk}`, `Bearer ${pk}`] })],
  ['two equal Authorization headers', WRONG, ({ sk }) => ({ authorization: [`Bearer ${sk}`, `Bearer ${sk}`] })],
  ['the id of the project', WRONG, ({ id }) => bearer(id)],
  ['a session token as a key', WRONG, async () => bearer((await newSession(owner)).split('=')[1]!)],
  ['the secret key before a rotation', WRONG, () => bearer(revoked.sk)],
  ['the public key before a rotation', WRONG, () => bearer(revoked.pk)],
  ['the secret key of a deleted project', WRONG, () => bearer(deleted.sk)],
  ['the public key of a deleted project', WRONG, () => bearer(deleted.pk)],
]

/** Invalid session cookies. Routes for keys ignore them. */
const DEAD: [name: string, make: () => Promise<string>][] = [
  ['an expired session', () => newSession(owner, { expired: true })],
  ['a session in capitals', async () => `sterna_session=${(await newSession(owner)).split('=')[1]!.toUpperCase()}`],
  ['a tampered session', async () => flip(await newSession(owner))],
  ['a session cut short', async () => (await newSession(owner)).slice(0, -1)],
  ['a session and one more', async () => `${await newSession(owner)}A`],
  ['a made-up session', async () => `sterna_session=${randomToken()}`],
  [
    'a session that was logged out',
    async () => {
      const cookie = await newSession(owner)
      await sterna.call('GET', '/auth/logout', { cookie })
      return cookie
    },
  ],
  ['a session under the name it has on https', async () => `__Host-${await newSession(owner)}`],
  ['a key as a session', async () => `sterna_session=${revoked.sk}`],
]

const RANK: Record<Role | '-', number> = { '-': 1, MEMBER: 1, ADMIN: 2, OWNER: 3 }
const LIVE: [name: Role | 'STRANGER', who: () => Person, rank: number][] = [
  ['OWNER', () => owner, 3],
  ['ADMIN', () => admin, 2],
  ['MEMBER', () => member, 1],
  ['STRANGER', () => stranger, 0],
]

type Case = { name: string; make: (project: Project) => Credential | Promise<Credential>; expected: Record<Caller, Verdict> }

const anyone = { anyone: 'in', visitor: 'in' } as const
const keyRoutes = (verdict: Verdict) => ({ 'public-key': verdict, 'secret-key': verdict, project: verdict })

/** The whole matrix for routes that need `role`. */
const casesFor = (role: Role | '-'): Case[] => {
  const strange = STRANGE.map(([name, key, make]) => ({ name, make, expected: { ...anyone, session: NOBODY, ...keyRoutes(key) } }))
  const right: Case[] = [
    {
      name: 'the secret key',
      make: ({ sk }) => bearer(sk),
      expected: { ...anyone, session: NOBODY, ...keyRoutes('in'), 'public-key': WRONG },
    },
    {
      name: 'the public key',
      make: ({ pk }) => bearer(pk),
      expected: { ...anyone, session: NOBODY, ...keyRoutes(WRONG), 'public-key': 'in' },
    },
  ]
  const dead = DEAD.map(([name, cookie]) => {
    const seen = !name.includes('https')
    const expected = { ...anyone, session: NOBODY, ...keyRoutes(MISSING), project: seen ? NOBODY : MISSING }
    return { name, make: async ({ id }: Project) => ({ cookie: await cookie(), 'x-project-id': id }), expected }
  })
  const live = LIVE.flatMap(([name, who, rank]) => {
    const mayEnter: Verdict = rank === 0 ? DENIED : rank < RANK[role] ? FORBIDDEN : 'in'
    const bySession: Verdict = role === '-' ? 'in' : rank === 0 ? NOT_FOUND : rank < RANK[role] ? FORBIDDEN : 'in'
    const cookies: [string, Verdict, (project: Project) => Credential][] = [
      ['', UNNAMED, () => ({})],
      [' and X-Project-Id', mayEnter, ({ id }) => ({ 'x-project-id': id })],
      [' and X-Project-Id in capitals', mayEnter, ({ id }) => ({ 'x-project-id': id.toUpperCase() })],
      [' and an unknown X-Project-Id', DENIED, () => ({ 'x-project-id': randomUUID() })],
      [' and a bad X-Project-Id', DENIED, () => ({ 'x-project-id': `'; drop table projects` })],
      [' and an empty X-Project-Id', DENIED, () => ({ 'x-project-id': '' })],
      [' and two X-Project-Ids', DENIED, ({ id }) => ({ 'x-project-id': [id, strangers.id] })],
      [' and the X-Project-Id of a deleted project', DENIED, () => ({ 'x-project-id': deleted.id })],
      [' and a foreign X-Project-Id', rank === 0 ? 'in' : DENIED, () => ({ 'x-project-id': strangers.id })],
    ]
    return cookies.map(
      ([suffix, project, extra]): Case => ({
        name: `a session of ${name}${suffix}`,
        make: async (stage) => ({ cookie: await sessionOf(who()), ...extra(stage) }),
        expected: { ...anyone, session: bySession, ...keyRoutes(MISSING), project },
      }),
    )
  })
  // With a key and a session, the key counts.
  const mixed: Case[] = [
    {
      name: 'the secret key, and a session of a stranger in their project',
      make: async ({ sk }) => ({ ...bearer(sk), cookie: await sessionOf(stranger), 'x-project-id': strangers.id }),
      expected: { ...anyone, session: role === '-' ? 'in' : NOT_FOUND, ...keyRoutes('in'), 'public-key': WRONG },
    },
    {
      name: 'a wrong key, and a session of OWNER and X-Project-Id',
      make: async ({ id }) => ({ ...bearer(revoked.sk), cookie: await sessionOf(owner), 'x-project-id': id }),
      expected: { ...anyone, session: 'in', ...keyRoutes(WRONG) },
    },
  ]
  return [...strange, ...right, ...dead, ...live, ...mixed]
}

// The matrix ----------------------------------------------------------------------------------------------------------

/** Checks of a route beyond its declared role: a member may remove only themselves. */
const STRICTER: Record<string, Partial<Record<Role, Verdict>>> = {
  'DELETE /projects/:id/members/:userId': { MEMBER: FORBIDDEN },
}

/** The hook that checks a caller knows nothing else of a route: with the same credential, routes of one shape get the same verdict. */
const shapeOf = (route: Route) => [route.caller, route.role, isWrite(route), route.keyCheckedLater].join()

/** One credential of each kind that a route can accept or refuse. */
const TELLING = new Set([
  'nothing',
  'the secret key before a rotation',
  'the secret key',
  'the public key',
  'an expired session',
  'a session of OWNER',
  'a session of OWNER and X-Project-Id',
  'a session of ADMIN and X-Project-Id',
  'a session of MEMBER and X-Project-Id',
  'a session of STRANGER and X-Project-Id',
  'a session of OWNER and a foreign X-Project-Id',
  'the secret key, and a session of a stranger in their project',
])
const IN_TURN = 2
/** Of every route without a caller: nothing looks at their credentials. */
const OF_ANYONE = 5

/** One route of each shape gets every credential. The others get the telling ones and some of the rest in turn: 79 for each take a minute. */
function chooseCases(cases: Case[], turn: 'all' | number, caller: Caller) {
  if (turn === 'all') return cases
  if (caller === 'anyone') return Array.from({ length: OF_ANYONE }, (_, offset) => cases[(turn * OF_ANYONE + offset) % cases.length]!)
  const rest = cases.filter(({ name }) => !TELLING.has(name))
  const some = Array.from({ length: IN_TURN }, (_, offset) => rest[(turn * IN_TURN + offset) % rest.length]!)
  return [...cases.filter(({ name }) => TELLING.has(name)), ...some]
}

/** Wrong keys are limited per IP. */
let ips = 0
const fromNewIp = () => ({ 'x-forwarded-for': `10.${Math.floor(++ips / 62_500) % 250}.${Math.floor(ips / 250) % 250}.${ips % 250}` })

/** An invalid body: it shows that a caller was allowed, without an effect. */
async function send(route: Route, project: Project, headers: Credential): Promise<Answer> {
  const url = route.url.replace(':id', project.id).replace(/:\w+/g, () => randomUUID())
  return sterna.call(route.method, url, {
    ...(route.takesBody ? { body: '[]' } : {}),
    headers: { ...fromNewIp(), ...headers } as Record<string, string>,
  })
}

/** Allowed: the request succeeded, its body was refused, or its resource (never the project) was not found. */
function isIn({ status, body }: Answer, route: Route) {
  if (route.takesBody) return status === 400 && body.error.code === 'VALIDATION_ERROR'
  if (status === 404) return isPlain(body) || (/_NOT_FOUND$/.test(body.error.code) && body.error.details.resource !== 'project')
  if (status === 415) return ['/contacts/import', '/uploads/image'].includes(route.url) // the handler reads the file, after the check of the caller
  if (status === 401) return body.error.code === 'INVALID_SIGNATURE' // the handler checks only the signature of the body
  return status === 200 || status === 204 || status === 422
}

/** The bare `{ error }` of a few handlers; the authentication never answers like that. */
const isPlain = (body: Answer['body']) => typeof body?.error === 'string'

const verdictOf = (answer: Answer, route: Route): Verdict => (isIn(answer, route) ? 'in' : `${answer.status} ${answer.body?.error?.code}`)

// A test above shows that HEAD has the callers of GET.
const byCaller = () => routes.filter(({ caller, method }) => caller !== '-' && method !== 'HEAD')

/** The route that ends all other sessions of its caller comes last and one at a time: it would refuse the requests beside it. */
async function forEachCase<Item extends { route: Route }>(cases: Item[], check: (item: Item) => Promise<void>) {
  const endsSessions = ({ route }: Item) => nameOf(route) === 'DELETE /users/@me/sessions'
  await fewAtOnce(
    cases.filter((each) => !endsSessions(each)),
    check,
  )
  for (const each of cases.filter(endsSessions)) await check(each)
}

describe('every route, called with every credential by', () => {
  test.each(['anyone', 'visitor', 'session', 'public-key', 'secret-key', 'project'] as const)('%s', async (caller) => {
    // The public probes only sleep or crash.
    const mine = byCaller().filter((route) => route.caller === caller && !(caller === 'anyone' && isProbe(route)))
    expect(mine.length).toBeGreaterThan(0)
    const common = await newTarget()
    const wrong: string[] = []
    mayShare = caller === 'project'
    const cases = mine.flatMap((route, index) => {
      const isFirst = mine.findIndex((other) => shapeOf(other) === shapeOf(route)) === index
      return chooseCases(casesFor(route.role), isFirst ? 'all' : index, caller).map((each) => ({ route, ...each }))
    })
    const check = async ({ route, name, make, expected }: (typeof cases)[number]) => {
      const as = /^a session of (OWNER|ADMIN|MEMBER)/.exec(name)?.[1] as Role | undefined
      const stricter = expected[caller] === 'in' && as ? STRICTER[nameOf(route)]?.[as] : undefined
      const project = expected[caller] === 'in' && mayChange(route) ? await newTarget() : common

      const answer = await send(route, project, await make(project))

      const verdict = verdictOf(answer, route)
      if (verdict !== (stricter ?? expected[caller]))
        wrong.push(`${nameOf(route)} with ${name}: ${verdict}, not ${stricter ?? expected[caller]}`)
      if (answer.status >= 400 && !isPlain(answer.body) && answer.body.error.requestId !== answer.headers['x-request-id'])
        wrong.push(`${nameOf(route)} with ${name}: request id`)
    }
    await forEachCase(cases, check)
    expect(wrong).toEqual([])
  })

  test('a refused request changes nothing', async () => {
    const before = await sterna.digest()
    const guarded = byCaller().filter(({ caller }) => caller !== 'anyone' && caller !== 'visitor')
    await fewAtOnce(guarded, async (route) => {
      for (const headers of [{}, bearer(revoked.sk), { cookie: `sterna_session=${randomToken()}`, 'x-project-id': strangers.id }])
        await send(route, strangers, headers)
    })
    expect(await sterna.digest()).toBe(before)
  })

  test('a key in the query or the body is ignored', async () => {
    const { pk, sk } = await newTarget()
    const query = await sterna.call('GET', `/probe/secret?key=${sk}&apiKey=${sk}&authorization=Bearer%20${sk}&access_token=${sk}`)
    const body = await sterna.call('POST', '/probe/track', { body: { key: pk, apiKey: pk, authorization: `Bearer ${pk}` } })
    expect([query, body].map((answer) => [answer.status, answer.body.error.code])).toEqual([
      [401, 'MISSING_AUTH'],
      [401, 'MISSING_AUTH'],
    ])
  })

  test('a key acts for its own project, with any X-Project-Id', async () => {
    const project = await newTarget()
    const headers = { ...bearer(project.sk), 'x-project-id': strangers.id }
    expect((await sterna.call('GET', '/probe/project', { headers })).body).toEqual({ project: project.id })
    expect((await sterna.call('GET', '/probe/project', { headers, cookie: await newSession(stranger) })).body).toEqual({
      project: project.id,
    })
  })

  test('a wrong key is refused without a hint at the wrong part', async () => {
    const { sk, pk } = await newTarget()
    const keys = [`sk_${'0'.repeat(64)}`, sk.slice(0, -1), pk, revoked.sk, deleted.sk, 'garbage']
    const answers = await Promise.all(
      keys.map((key) => sterna.call('GET', '/probe/secret', { headers: { ...bearer(key), ...fromNewIp() } })),
    )
    const essence = answers.map(({ status, headers, body }) => ({
      status,
      headers: Object.keys(headers),
      error: { ...body.error, requestId: '' },
    }))
    for (const each of essence) expect(each).toEqual(essence[0])
  })
})

// Scopes --------------------------------------------------------------------------------------------------------------

describe('every route for secret keys, and every scope', () => {
  const scoped = () =>
    routes.flatMap((route) => {
      const { scope, method } = route
      return scope === null || method === 'HEAD' || isProbe(route) ? [] : [{ ...route, scope }]
    })
  type Scoped = ReturnType<typeof scoped>[number]
  /** The smallest sets of scopes that open a route. */
  const openedBy = (route: Scoped) => {
    const single = SCOPES.filter((scope) => !missingScope([scope], route))
    const { scope } = route
    return typeof scope === 'object' && 'all' in scope ? [...single, scope.all.join('+')] : single
  }

  // Shows new and changed routes as a diff; `vitest -u` accepts them.
  test('are the reviewed ones', async () => {
    const sendersOf = ({ senders }: Scoped) => (senders === 'none' ? '' : `, senders ${senders.join(' ')}`)
    const stopsOf = ({ stops }: Scoped) => (stops === 'never' ? '' : `, stops ${stops}`)
    const lines = scoped().map((route) => `${nameOf(route)}: ${openedBy(route).join(' ')}${sendersOf(route)}${stopsOf(route)}`)
    await expect(`${lines.sort().join('\n')}\n`).toMatchFileSnapshot('./scopes.golden.txt')
  })

  test('a key is let in, or refused with the scope that it lacks', async () => {
    // The sessions of the others were ended by the tests above.
    const person = await sterna.newPerson()
    const project = await sterna.newProject(person)
    const newKey = async (scopes: Scope[]) =>
      (await person.call('POST', `/projects/${project.id}/keys`, { body: { name: scopes.join(), kind: 'secret', scopes } })).body
        .key as string
    const keys = new Map(await Promise.all(SCOPES.map(async (scope) => [scope, await newKey([scope])] as const)))
    const wrong: string[] = []
    // Two scopes for each route: one that opens it and one that does not, in turn.
    const cases = scoped().flatMap((route, turn) => {
      const of = (isOpen: boolean) => SCOPES.filter((scope) => (missingScope([scope], route) === undefined) === isOpen)
      return [of(true), of(false)].flatMap((scopes) => (scopes.length ? [{ route, scope: scopes[turn % scopes.length]! }] : []))
    })
    await fewAtOnce(cases, async ({ route, scope }) => {
      const answer = await send(route, project, bearer(keys.get(scope)!))
      const missing = missingScope([scope], route)
      const isRight = missing
        ? answer.status === 403 && answer.body.error.code === 'INSUFFICIENT_SCOPE' && answer.body.error.details.scope === missing
        : isIn(answer, route)
      if (!isRight) wrong.push(`${nameOf(route)} with ${scope}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`)
    })
    expect(wrong).toEqual([])
  })

  test('a key outside its networks, or after its end, is refused by each of them', async () => {
    const person = await sterna.newPerson()
    const project = await sterna.newProject(person)
    const newKey = async (settings: object) =>
      (await person.call('POST', `/projects/${project.id}/keys`, { body: { name: 'k', kind: 'secret', ...settings } })).body.key as string
    const far = await newKey({ networks: ['192.0.2.0/24'] })
    const expired = await newKey({ expiresAt: new Date(Date.now() + 3_600_000).toISOString() })
    await sql`update api_keys set expires_at = now() where project_id = ${project.id} and expires_at is not null`.execute(sterna.db)
    const open: string[] = []
    const cases = scoped().map((route, turn) => ({ route, key: turn % 2 ? far : expired }))
    await fewAtOnce(cases, async ({ route, key }) => {
      const answer = await send(route, project, bearer(key))
      if (verdictOf(answer, route) !== WRONG) open.push(`${nameOf(route)}: ${answer.status}`)
    })
    expect(open).toEqual([])
    const inside = { ...bearer(far), 'x-forwarded-for': '192.0.2.7' }
    expect((await sterna.call('GET', '/contacts', { headers: inside })).status).toBe(200)
  })
})

// Cross-site writes ---------------------------------------------------------------------------------------------------

describe('every write that another site could cause', () => {
  const FOREIGN: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:3000' },
    { 'sec-fetch-site': 'nonsense' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost:3000.evil.example' },
    { origin: 'http://localhost:3001' },
    { origin: 'file://' },
    { origin: 'https://evil.example', 'x-forwarded-host': 'evil.example' },
    { origin: 'https://evil.example', referer: 'http://localhost:3000/' },
  ]
  const OWN: Record<string, string>[] = [
    {},
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
    { origin: 'http://localhost:3000' },
    { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:3000' },
  ]
  const exposed = () => byCaller().filter((route) => isWrite(route) && ['visitor', 'session', 'project'].includes(route.caller))
  const asOwner = async ({ id }: Project) => ({ cookie: await newSession(owner), 'x-project-id': id })

  test('is refused from another site and changes nothing', async () => {
    expect(exposed().length).toBeGreaterThan(10)
    const project = await newTarget()
    const credential = await asOwner(project)
    const before = await sterna.digest()
    const taken: string[] = []
    await fewAtOnce(exposed(), async (route) => {
      for (const headers of FOREIGN) {
        const answer = await send(route, project, { ...credential, ...headers })
        if (answer.status !== 403 || answer.body.error.code !== 'FORBIDDEN')
          taken.push(`${nameOf(route)} ${JSON.stringify(headers)}: ${answer.status}`)
      }
    })
    expect(taken).toEqual([])
    expect(await sterna.digest()).toBe(before)
  })

  test('is accepted from our own pages and from clients that are no browsers', async () => {
    const refused: string[] = []
    const shared = await newTarget()
    const cases = exposed().flatMap((route) => OWN.map((headers) => ({ route, headers })))
    await forEachCase(cases, async ({ route, headers }) => {
      const project = mayChange(route) ? await newTarget() : shared
      const answer = await send(route, project, { ...(await asOwner(project)), ...headers })
      if (!isIn(answer, route)) refused.push(`${nameOf(route)} ${JSON.stringify(headers)}: ${answer.status}`)
    })
    expect(refused).toEqual([])
  })

  test('is refused as a form, which would need no preflight', async () => {
    const project = await newTarget()
    const credential = await asOwner(project)
    const before = await sterna.digest()
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      for (const route of exposed().filter(({ takesBody }) => takesBody)) {
        const url = route.url.replace(':id', project.id).replace(/:\w+/g, randomUUID())
        const answer = await sterna.call(route.method, url, { body: '{"name":"x"}', headers: { ...credential, 'content-type': type } })
        expect([nameOf(route), answer.status, answer.body.error.code]).toEqual([nameOf(route), 415, 'UNSUPPORTED_MEDIA_TYPE'])
      }
    }
    expect(await sterna.digest()).toBe(before)
  })

  test('cannot be a GET', async () => {
    const project = await newTarget()
    const headers = {
      cookie: await newSession(owner),
      'x-http-method-override': 'DELETE',
      'x-method-override': 'DELETE',
      'x-http-method': 'DELETE',
    }
    await sterna.call('GET', `/users/@me/projects?_method=DELETE`, { headers })
    const answer = await sterna.call('GET', `/users/@me/projects/${project.id}?_method=DELETE`, { headers })
    expect(answer.status).toBe(404)
    expect((await sterna.call('GET', `/projects/${project.id}/members`, { headers })).status).toBe(200)
  })

  test('only logout and the DNS lookup are GETs with an effect', () => {
    const changing = byCaller().filter((route) => !isWrite(route) && /logout|delete|reset|regenerate|accept|verify/.test(route.url))
    expect(changing.map(nameOf)).toEqual(['GET /auth/logout', 'GET /domains/:id/verify'])
  })
})
