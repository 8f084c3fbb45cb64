import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { SMTP_ATTACKS, type SmtpAttacker } from './smtp-attacks.ts'

/** The project whose keys the attacking process uses. */
export type Attacker = SmtpAttacker & { public: string }
export type Order = { attack: AttackName; requests: number }
/** Responses to the attacker by status. `none`: the connection ended without a response. `held`: the node waited for the rest of the body. */
export type Outcome = {
  statuses: Record<string, number>
  largestAnswer: number
  withoutRetryAfter: number
  /** Most bodies that the node held at once. */
  mostHeld: number
}
type Answer = { status: number | 'held' | 'none' | `smtp ${string}`; size: number; retryAfter: boolean }

const MB = 1024 * 1024
const HELD_MS = 2_000
const REFUSED_WITHIN_MS = 500

const post = (path: string, body: Buffer | string | object, more: Partial<Request> = {}): Request => ({
  path,
  method: 'POST',
  body: typeof body === 'string' || Buffer.isBuffer(body) ? Buffer.from(body) : Buffer.from(JSON.stringify(body)),
  type: 'application/json',
  ...more,
})
const get = (path: string): Request => ({ path, method: 'GET' })
const list = (bytes: number) => `[${'0,'.repeat(bytes / 2)}0]`
const keys = (bytes: number) => Array.from({ length: bytes / 13 }, (_, index) => `"x${String(index).padStart(7, '0')}":0`).join(',')

const GROUP = '{"filters":[{"field":"data.a","operator":"exists"}]}'
const nested = (depth: number) => `${'{"logic":"AND","groups":[{"filters":[],"conditions":'.repeat(depth)}{}${'}]}'.repeat(depth)}`
/** As many filters as are allowed, each on the largest value of a contact. */
const SLOW_CONDITION = {
  logic: 'OR',
  groups: Array.from({ length: 100 }, (_, index) => ({
    filters: [{ field: 'data.text', operator: 'contains', value: `${'x'.repeat(500)}${index}` }],
  })),
}

const HELD: Answer = { status: 'held', size: 0, retryAfter: false }
let emails = 0
let held = 0
let mostHeld = 0
const send = (
  { domain }: Attacker,
  body: string,
  { recipients, to = 'reader', data = {} }: { recipients: number; to?: string; data?: object },
) =>
  post('/v1/send', {
    to: Array.from({ length: recipients }, () => `${to}+${++emails}@attack.example`),
    from: `attack@${domain}`,
    subject: 'Attack',
    body,
    data,
  })

type Request = {
  path: string
  method: string
  body?: Buffer
  type?: string
  key?: 'secret' | 'public'
  /** Keeps back the last part of the body for this long after the rest was written, then hangs up. */
  heldMs?: number
}
/** `every`: divides the number of requests, for expensive ones. A large body is built once, an email for each request. */
type Attack = { concurrency: number; every?: number } & (
  | { make: (attacker: Attacker) => Request | (() => Request) }
  | { smtp: (attacker: SmtpAttacker) => Promise<string> }
)

/** One shape of load for each way in which a project could slow down others. */
const ATTACKS = {
  'validation errors in a list': { concurrency: 8, make: () => post('/contacts/lookup', `{"emails":${list(MB - 100)}}`) },
  'validation errors in 10 MB of headers': {
    concurrency: 4,
    every: 4,
    make: () => post('/v1/send', `{"headers":{${keys(10 * MB)}}}`),
  },
  'validation errors in 41 MB of headers': {
    concurrency: 2,
    every: 12,
    make: () => post('/v1/send', `{"headers":{${keys(41 * MB)}}}`),
  },
  'filters that print nothing': {
    concurrency: 2,
    every: 30,
    make: (attacker) => () =>
      send(attacker, `{{w|${'upcase|downcase|'.repeat(24)}strip}}`.repeat(200), {
        recipients: 30,
        data: { w: { value: '\u2003'.repeat(65_000), persistent: false } },
      }),
  },
  'templates that take too long': {
    concurrency: 2,
    every: 200,
    make: (attacker) => () =>
      send(attacker, `{% for i in (1..600) %}{% for j in (1..100) %}{% assign x = i | times: j %}{% endfor %}{% endfor %}`, {
        recipients: 200,
      }),
  },
  'HTML that is slow to read': {
    concurrency: 2,
    every: 24,
    make: (attacker) => () =>
      send(attacker, `${'<b>'.repeat(1_990)}{% for i in (1..1200) %}${'</x>'.repeat(1_000)}{% endfor %}`, { recipients: 10 }),
  },
  'bodies that do not end': {
    concurrency: 200,
    make: () => post('/v1/send', Buffer.alloc(42 * MB, ' '), { heldMs: HELD_MS }),
  },
  'large events': {
    concurrency: 8,
    make: () => {
      const values = Array.from({ length: 20 }, (_, index) => [`text${index}`, { value: 'x'.repeat(50_000), persistent: false }])
      return post('/v1/track', { email: 'a@attack.example', event: 'large', data: Object.fromEntries(values) }, { key: 'public' })
    },
  },
  'arrays of numbers': {
    concurrency: 8,
    make: () => post('/v1/track', `{"email":"a@attack.example","event":"\\u0061rrays","ignored":${list(MB - 1_000)}}`, { key: 'public' }),
  },
  'pages of large contacts': { concurrency: 8, make: () => get('/contacts?limit=100') },
  'slow reads': { concurrency: 60, make: () => get('/contacts/fields/plan/values') },
  'conditions that are too deep': { concurrency: 8, make: () => post('/segments/preview', `{"condition":${nested(5_000)}}`) },
  'conditions with too many groups': {
    concurrency: 8,
    make: () => post('/segments/preview', `{"condition":{"logic":"OR","groups":[${`${GROUP},`.repeat(15_000)}${GROUP}]}}`),
  },
  'conditions that are slow to evaluate': {
    concurrency: 30,
    every: 4,
    make: () => post('/segments/preview', { condition: SLOW_CONDITION }),
  },
  'CSV uploads': { concurrency: 4, every: 6, make: csvUpload },
  'a recipient that the relay refuses': {
    concurrency: 1,
    every: 100,
    make: (attacker) => () => send(attacker, 'Hi', { recipients: 1, to: 'denied' }),
  },
  'a mailbox that is throttled': {
    concurrency: 1,
    every: 100,
    make: (attacker) => () => send(attacker, 'Hi', { recipients: 12, to: 'throttled' }),
  },
  ...SMTP_ATTACKS,
} satisfies Record<string, Attack>

export type AttackName = keyof typeof ATTACKS
export const ATTACK_NAMES = Object.keys(ATTACKS) as AttackName[]

function csvUpload() {
  const rows = Array.from({ length: 116_000 }, (_, index) => `u${index % 100}@b.example,Name number ${index} abcdefg`)
  const boundary = 'attack'
  const body = [
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="5m.csv"\r\ncontent-type: text/csv\r\n\r\n`,
    ['email,n', ...rows].join('\n'),
    `\r\n--${boundary}--\r\n`,
  ]
  return post('/contacts/import', body.join(''), { type: `multipart/form-data; boundary=${boundary}` })
}

export async function attack(attacker: Attacker, { attack: name, requests }: Order): Promise<Outcome> {
  const shape: Attack = ATTACKS[name]
  const { concurrency, every = 1 } = shape
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency })
  const outcome: Outcome = { statuses: {}, largestAnswer: 0, withoutRetryAfter: 0, mostHeld: 0 }
  held = mostHeld = 0
  const perform = 'smtp' in shape ? () => shape.smtp(attacker).then(answerOf) : performer(agent, attacker, shape.make(attacker))
  let left = Math.ceil(requests / every)
  const work = async () => {
    while (left-- > 0) note(outcome, await perform().catch(() => undefined))
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, left) }, work))
  agent.destroy()
  return { ...outcome, mostHeld }
}

function performer(agent: Agent, attacker: Attacker, made: Request | (() => Request)) {
  const next = typeof made === 'function' ? made : () => made
  return () => call(agent, attacker, next())
}

/** A reply of SMTP, by its code. */
const answerOf = (code: string): Answer => ({
  status: code === 'held' || code === 'none' ? code : `smtp ${code}`,
  size: 0,
  retryAfter: false,
})

function note(outcome: Outcome, answer: Answer | undefined) {
  const status = answer?.status ?? 'none'
  outcome.statuses[status] = (outcome.statuses[status] ?? 0) + 1
  outcome.largestAnswer = Math.max(outcome.largestAnswer, answer?.size ?? 0)
  if ((status === 503 || status === 429) && !answer?.retryAfter) outcome.withoutRetryAfter++
}

function call(agent: Agent, attacker: Attacker, { path, method, body, type, key = 'secret', heldMs }: Request) {
  return new Promise<Answer>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${attacker[key]}`,
      ...(body ? { 'content-type': type, 'content-length': body.length } : {}),
    }
    const req = request(attacker.url + path, { method, agent, headers })
    req.once('error', reject)
    req.once('response', (answer) => resolve(measure(answer)))
    if (!body || heldMs === undefined) return void req.end(body)
    req.flushHeaders()
    void hold(req, body.subarray(0, body.length - MB), heldMs).then((isHeld) => isHeld && resolve(HELD))
  })
}

/**
 * A node may refuse by Content-Length; sending the body then would only delay its response. True when the node took all that was sent and
 * was still waiting for the rest in the end.
 */
async function hold(req: ClientRequest, body: Buffer, heldMs: number) {
  let isOver = false
  for (const end of ['response', 'error', 'close']) req.once(end, () => (isOver = true))
  await sleep(REFUSED_WITHIN_MS)
  if (isOver) return false
  await new Promise((resolve) => req.write(body, resolve))
  if (isOver) return false
  mostHeld = Math.max(mostHeld, ++held)
  await sleep(heldMs)
  held--
  const isHeld = !isOver
  req.destroy()
  return isHeld
}

async function measure(answer: IncomingMessage): Promise<Answer> {
  let size = 0
  for await (const chunk of answer) size += chunk.length
  return { status: answer.statusCode!, size, retryAfter: answer.headers['retry-after'] !== undefined }
}
