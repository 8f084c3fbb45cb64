import { connect, type Socket } from 'node:net'

/** A tenant that sends emails and looks contacts up. */
export type OverloadTenant = { secret: string; domain: string }
/** `perSecond`: requests at a steady rate, whether earlier ones were answered or not. Without it each connection waits for its answer. */
export type LoadOrder = { perSecond?: number; seconds: number; connections: number }
export type LoadOutcome = {
  offered: number
  /** Requests that had no free connection, and were not made. */
  skipped: number
  statuses: Record<string, number>
  withoutRetryAfter: number
  /** Connections that the server closed. */
  resets: number
  p50: number
  p99: number
  /** The ids of the emails that were answered with 2xx. */
  emails: string[]
  /** Requests without an answer: it is unknown whether they took effect. */
  unanswered: number
}
export type OverloadPlan = { port: number; tenants: OverloadTenant[] }

const TICK_MS = 5
/** After the last request, the time for the answers to arrive. */
const DRAIN_MS = 10_000
/** Addresses that are looked up at once: it takes the node far longer than a refusal, so that ten times the load is not a load of refusals alone. */
const LOOKED_UP = 500
const BODY = '<p>Hello {{email}}, this is the news of the week.</p>'.repeat(40)
const LOOKUP = JSON.stringify({ emails: Array.from({ length: LOOKED_UP }, (_, n) => `r${n * 4}@receiver.example`) })
const HEADERS_END = '\r\n\r\n'

// A separate process, with as little work per request as possible: it shares two cores with the node that it measures.
const plan = JSON.parse(process.argv[2]!) as OverloadPlan
let number = 0

type Request = { text: string; isSend: boolean }
type Answer = { status: string; head: string; body: string }
type Connection = { socket: Socket; received: string; onAnswer: ((answer: Answer | undefined) => void) | undefined }

/** Connections without a request. They stay open from one order to the next, as those of a proxy do. */
const idle: Connection[] = []

function nextRequest(): Request {
  const n = ++number
  const { secret, domain } = plan.tenants[n % plan.tenants.length]!
  const address = `r${n}@receiver.example`
  const isSend = Math.floor(n / plan.tenants.length) % 2 === 0
  const body = isSend ? JSON.stringify({ to: address, from: `news@${domain}`, subject: `News ${n}`, body: BODY }) : LOOKUP
  const head = `POST ${isSend ? '/v1/send' : '/contacts/lookup'} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json`
  return { text: `${head}\r\nContent-Length: ${Buffer.byteLength(body)}${HEADERS_END}${body}`, isSend }
}

/** Resolves without an answer if the server closes the connection. */
function ask(connection: Connection, text: string) {
  return new Promise<Answer | undefined>((resolve) => {
    connection.onAnswer = resolve
    if (connection.socket.destroyed) finish(connection, undefined)
    else connection.socket.write(text)
  })
}

function finish(connection: Connection, answer: Answer | undefined) {
  const { onAnswer } = connection
  connection.onAnswer = undefined
  onAnswer?.(answer)
}

function read(connection: Connection, chunk: string) {
  connection.received += chunk
  const headEnd = connection.received.indexOf(HEADERS_END)
  if (headEnd < 0) return
  const head = connection.received.slice(0, headEnd)
  const bodyAt = headEnd + HEADERS_END.length
  const length = /content-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`an answer without a length: ${head}`)
  const end = bodyAt + Number(length)
  if (connection.received.length < end) return
  const answer = { status: head.slice(9, 12), head, body: connection.received.slice(bodyAt, end) }
  connection.received = connection.received.slice(end)
  finish(connection, answer)
}

/** Connections that are opened at once. The rest of them would wait for seconds in the queue of the operating system. */
const OPENED_AT_ONCE = 100

/** Opens the connections that are missing. The server may have closed some that were idle. */
async function open(count: number) {
  idle.splice(0, idle.length, ...idle.filter(({ socket }) => !socket.destroyed))
  while (idle.length < count) await Promise.all(Array.from({ length: Math.min(OPENED_AT_ONCE, count - idle.length) }, openOne))
}

/** Makes one request: only then the server has accepted the connection. */
async function openOne() {
  const socket = connect({ port: plan.port, host: '127.0.0.1', noDelay: true })
  const connection: Connection = { socket, received: '', onAnswer: undefined }
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => read(connection, chunk))
  socket.on('error', () => {})
  socket.on('close', () => finish(connection, undefined))
  const answer = await ask(connection, `GET /health HTTP/1.1\r\nHost: x${HEADERS_END}`)
  if (!answer) throw new Error('the server refused a connection')
  idle.push(connection)
}

async function carryOut({ perSecond, seconds, connections }: LoadOrder): Promise<LoadOutcome> {
  await open(connections)
  const mine = idle.splice(0, connections)
  const counts = { offered: 0, skipped: 0, withoutRetryAfter: 0, resets: 0, unanswered: 0 }
  const statuses: Record<string, number> = {}
  const emails: string[] = []
  const times: number[] = []
  const endsAt = performance.now() + seconds * 1_000
  let underWay = 0

  function record({ isSend }: Request, ms: number, answer: Answer | undefined) {
    if (!answer) {
      counts.resets++
      counts.unanswered++
      return
    }
    const { status, head, body } = answer
    statuses[status] = (statuses[status] ?? 0) + 1
    if ((status === '429' || status === '503') && !/^retry-after: \d/im.test(head)) counts.withoutRetryAfter++
    if (!status.startsWith('2')) return
    times.push(ms)
    if (isSend) emails.push(JSON.parse(body).data.emails[0].email)
  }

  async function makeRequest(connection: Connection) {
    counts.offered++
    underWay++
    const request = nextRequest()
    const sentAt = performance.now()
    const answer = await ask(connection, request.text)
    record(request, performance.now() - sentAt, answer)
    underWay--
  }

  /** What is due in each tick leaves at once, over the connections that are free. */
  async function offer(rate: number) {
    idle.push(...mine)
    const startedAt = performance.now()
    for (let due = 0; performance.now() < endsAt; await sleep(TICK_MS)) {
      for (const wanted = ((performance.now() - startedAt) / 1_000) * rate; due < wanted; due++) {
        const free = idle.pop()
        if (free) void makeRequest(free).then(() => free.socket.destroyed || idle.push(free))
        else counts.skipped++
      }
    }
  }

  if (perSecond !== undefined) await offer(perSecond)
  else
    await Promise.all(
      mine.map(async (connection) => {
        while (performance.now() < endsAt && !connection.socket.destroyed) await makeRequest(connection)
        idle.push(connection)
      }),
    )
  for (const until = performance.now() + DRAIN_MS; underWay && performance.now() < until; ) await sleep(50)
  times.sort((a, b) => a - b)
  const quantile = (share: number) => times[Math.floor((times.length - 1) * share)] ?? 0
  return { ...counts, unanswered: counts.unanswered + underWay, statuses, p50: quantile(0.5), p99: quantile(0.99), emails }
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.max(0, ms)))

process.on('message', async (order: LoadOrder) => process.send!(await carryOut(order)))
process.send!('ready')
