import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** The owner and the project of an attacking process. `cookie` is the session of the owner. */
export type Besieger = { url: string; secret: string; public: string; domain: string; cookie: string }
export type SiegeOrder = { siege: SiegeName; lastsMs: number }
/** Responses to the attacker, by status. `none`: no response in time, or no time left for the request. `problem`: why the siege ended early. */
export type SiegeOutcome = { statuses: Record<string, number>; problem?: string }

/** Recipients with this name get no reply to their final dot. */
export const SILENT = 'silent'
const SILENT_DOTS = 400
const CAMPAIGNS = 50
const CONTACTS = 105
/** Of every slow campaign: one without a recipient is refused. */
const RECIPIENT = 'short@attack.example'
const PROJECTS = 60
const HOSTS = 64
const EXECUTIONS_PER_HOST = 20
const REMEMBERING = 100
const REMEMBERED = 40
const EVENT_CHARACTERS = 31_000
/** As long as a text of a contact may be; each of its characters takes two bytes. */
const LONG_TEXT = 'é'.repeat(65_000)
const PATIENCE_MS = 60_000
/** Time beyond that of a siege for its requests. Later ones are not made, so that every run ends. */
const GRACE_MS = 120_000
const AT_ONCE = 8
const MAX_TRIES = 5
/** Requests of a kind that are repeated, also when the preparation took all of the time. */
const AT_LEAST = 5

// biome-ignore lint/suspicious/noExplicitAny: a response may be anything; the caller reads the fields it needs
type Reply = { status: number | 'none'; body: any }
type Call = (method: string, path: string, body?: object) => Promise<Reply>
/** `mustGoOn` is true until the time of the siege is over. */
type Siege = (scene: {
  besieger: Besieger
  as: (auth: Record<string, string>) => Call
  call: Call
  mustGoOn: () => boolean
}) => Promise<void>

/** Each siege is one tenant that keeps all limits of the API, and uses nothing but the API. */
const SIEGES = {
  'silent dots': async ({ besieger, call }) => {
    const to = Array.from({ length: SILENT_DOTS }, (_, n) => `${SILENT}+${n}@attack.example`)
    await call('POST', '/v1/send', { to, from: `attack@${besieger.domain}`, subject: 'Silence', body: '<p>Hi</p>' })
  },

  'campaigns that are slow to freeze': async ({ besieger, call }) => {
    await addLongContacts(call, CONTACTS, slowText())
    await call('POST', '/contacts', { email: RECIPIENT, subscribed: true })
    const search = { filters: [contains(`${manyLetters()}1`), contains(`${manyLetters()}2`)] }
    const recipient = { filters: [{ field: 'email', operator: 'equals', value: RECIPIENT }] }
    const campaigns = await eachOf(CAMPAIGNS, AT_ONCE, (n) =>
      call('POST', '/campaigns', {
        name: `Slow ${n}`,
        subject: 'Slow',
        body: '<p>Hi</p>',
        from: `attack@${besieger.domain}`,
        type: 'TRANSACTIONAL',
        audienceType: 'FILTERED',
        audienceCondition: { logic: 'OR', groups: [search, recipient] },
      }),
    )
    await eachOf(CAMPAIGNS, AT_ONCE, async (n) => {
      const send = () => call('POST', `/campaigns/${campaigns[n]!.body?.data?.id}/send`, {})
      for (let tries = 1; (await send()).status === 503 && tries < MAX_TRIES; tries++) await sleep(1_000)
    })
  },

  'hanging webhook hosts': async ({ besieger, as, mustGoOn }) => {
    const hosts = await startHangingHosts(HOSTS)
    const asOwner = as({ cookie: besieger.cookie })
    const projects = await eachOf(PROJECTS, 2, (n) => asOwner('POST', '/users/@me/projects', { name: `Attack ${n}` }))
    const keys = projects.flatMap(({ body }) => (body?.secret ? [{ secret: body.secret as string, public: body.public as string }] : []))
    if (keys.length < PROJECTS) throw new Error(`only ${keys.length} projects could be created`)
    await eachOf(HOSTS, AT_ONCE, async (n) => {
      const { secret } = keys[n % keys.length]!
      await addWorkflow(as({ authorization: `Bearer ${secret}` }), `enter ${n}`, [{ type: 'WEBHOOK', config: { url: hosts.urls[n] } }])
    })
    await eachOf(HOSTS * EXECUTIONS_PER_HOST, AT_ONCE, (n) => {
      const track = as({ authorization: `Bearer ${keys[(n % HOSTS) % keys.length]!.public}` })
      return track('POST', '/v1/track', { email: `c${n}@attack.example`, event: `enter ${n % HOSTS}` })
    })
    while (mustGoOn()) await sleep(100)
    hosts.stop()
  },

  'filters on long texts': async ({ call, mustGoOn }) => {
    const [contact] = await addLongContacts(call, 1)
    const condition = { logic: 'OR', groups: Array.from({ length: 100 }, (_, n) => ({ filters: [contains(`${manyLetters()}${n}`)] })) }
    const segment = await call('POST', '/segments', { name: 'Slow', condition, trackMembership: true })
    // The segment may have been stored although there was no good answer.
    const segmentId = segment.body?.id ?? (await call('GET', '/segments')).body?.data?.[0]?.id
    const ways = [
      () => call('GET', `/segments/${segmentId}/explain/${contact}`),
      (n: number) => call('PATCH', `/contacts/${contact}`, { data: { text: LONG_TEXT, changed: n } }),
      () => call('POST', '/segments/preview', { condition }),
    ]
    await Promise.all(
      ways.map(async (way) => {
        for (let n = 0; n < AT_LEAST || mustGoOn(); n++) await way(n)
      }),
    )
  },

  'events that are remembered': async ({ besieger, as, call }) => {
    const track = as({ authorization: `Bearer ${besieger.public}` })
    const wait = (eventName: string) => ({ type: 'WAIT_FOR_EVENT', config: { eventName } })
    await addWorkflow(call, 'enter', [wait('go on'), ...Array.from({ length: REMEMBERED }, (_, n) => wait(`remembered ${n}`))])
    const happens = (contact: number, event: string, data: object = {}) =>
      track('POST', '/v1/track', { email: `c${contact}@attack.example`, event, data })
    await eachOf(REMEMBERING, AT_ONCE, (n) => happens(n, 'enter'))
    const text = 'x'.repeat(EVENT_CHARACTERS)
    await eachOf(REMEMBERING * REMEMBERED, AT_ONCE, (n) =>
      happens(n % REMEMBERING, `remembered ${Math.floor(n / REMEMBERING)}`, { payload: text }),
    )
    await eachOf(REMEMBERING, AT_ONCE, (n) => happens(n, 'go on'))
  },
} satisfies Record<string, Siege>

export type SiegeName = keyof typeof SIEGES
export const SIEGE_NAMES = Object.keys(SIEGES) as SiegeName[]

export async function besiege(besieger: Besieger, { siege, lastsMs }: SiegeOrder): Promise<SiegeOutcome> {
  const outcome: SiegeOutcome = { statuses: {} }
  const end = Date.now() + lastsMs
  const as = (auth: Record<string, string>) => createCall(besieger.url, { auth, outcome, until: end + GRACE_MS })
  const call = as({ authorization: `Bearer ${besieger.secret}` })
  await SIEGES[siege]({ besieger, as, call, mustGoOn: () => Date.now() < end }).catch((err: Error) => {
    outcome.problem = `the attack ended early: ${err.message}`
  })
  // What the requests began goes on.
  await sleep(Math.max(0, end - Date.now()))
  return outcome
}

type Caller = { auth: Record<string, string>; outcome: SiegeOutcome; until: number }

function createCall(url: string, { auth, outcome: { statuses }, until }: Caller): Call {
  return async (method, path, body) => {
    const none: Reply = { status: 'none', body: undefined }
    const reply = Date.now() < until ? await request(url + path, method, { auth, body }).catch(() => none) : none
    statuses[reply.status] = (statuses[reply.status] ?? 0) + 1
    return reply
  }
}

async function request(
  url: string,
  method: string,
  { auth, body }: { auth: Record<string, string>; body: object | undefined },
): Promise<Reply> {
  const answer = await fetch(url, {
    method,
    headers: { ...auth, ...(body ? { 'content-type': 'application/json' } : {}) },
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await answer.text()
  return { status: answer.status, body: text && JSON.parse(text) }
}

/** Runs `work` for each number below `count`, several at a time. */
async function eachOf<T>(count: number, atOnce: number, work: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const take = async () => {
    for (let n = next++; n < count; n = next++) results[n] = await work(n)
  }
  await Promise.all(Array.from({ length: atOnce }, take))
  return results
}

/** Has all of those letters in the other case, so that none of them can be passed over. */
const slowText = () => manyLetters().toUpperCase().repeat(1_000).slice(0, LONG_TEXT.length)

const contains = (value: string) => ({ field: 'data.text', operator: 'contains', value })

/** A needle of as many different letters with upper and lower case as possible: each of them may cost a pass over the text. */
function manyLetters() {
  const letters: string[] = []
  for (let code = 0xc0; code < 0x530 && letters.length < 219; code++) {
    const letter = String.fromCodePoint(code)
    if (letter.toLowerCase() === letter && letter.toUpperCase() !== letter && letter.toUpperCase().length === 1) letters.push(letter)
  }
  return letters.join('')
}

/** Returns their ids. */
async function addLongContacts(call: Call, count: number, text = LONG_TEXT): Promise<string[]> {
  const added = await eachOf(count, 4, (n) =>
    call('POST', '/contacts', { email: `long${n}@attack.example`, subscribed: true, data: { text } }),
  )
  return added.map(({ body }) => body?.id)
}

async function addWorkflow(call: Call, eventName: string, steps: { type: string; config: object }[]) {
  const { status, body: created } = await call('POST', '/workflows', { name: eventName, eventName })
  if (!created?.steps) throw new Error(`a workflow was answered with ${status}`)
  const added = steps.map((step) => ({ id: randomUUID(), ...step }))
  const ids = [created.steps[0].id, ...added.map(({ id }) => id)]
  const transitions = added.map(({ id }, index) => ({ fromStepId: ids[index], toStepId: id }))
  const graph = await call('PUT', `/workflows/${created.id}/graph`, { steps: added, transitions, version: created.version })
  const enabled = await call('PATCH', `/workflows/${created.id}`, { enabled: true })
  if (graph.status !== 200 || enabled.status !== 200) throw new Error(`a workflow was answered with ${graph.status}, ${enabled.status}`)
}

/** Hosts that take every request and never answer. Each has a loopback address of its own. */
async function startHangingHosts(count: number) {
  const servers: Server[] = []
  for (let n = 1; n <= count; n++) {
    const server = createServer(() => {}).listen(0, `127.0.1.${n}`)
    await once(server, 'listening')
    servers.push(server)
  }
  return {
    urls: servers.map((server, index) => `http://127.0.1.${index + 1}:${(server.address() as AddressInfo).port}/hook`),
    stop() {
      for (const server of servers) {
        server.closeAllConnections()
        server.close()
      }
    },
  }
}
