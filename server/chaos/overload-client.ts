import { connect, type Socket } from 'node:net'

/** A tenant that sends emails and adds contacts. */
export type OverloadTenant = { secret: string; domain: string }
/** `perSecond`: requests at a steady rate, whether earlier ones were answered or not. Without it each connection waits for its answer. */
export type LoadOrder = { perSecond?: number; seconds: number; connections: number }
export type LoadOutcome = {
  offered: number
  /** Requests that had no free connection, and were not made. */
  skipped: number
  statuses: Record<string, number>
  withoutRetryAfter: number
  /** Connections that the server refused or reset. */
  resets: number
  p50: number
  p99: number
  /** What was answered with 2xx: ids of emails, and addresses of contacts. */
  emails: string[]
  contacts: string[]
  /** Requests without an answer: nobody knows whether they took effect. */
  unanswered: number
}
export type OverloadPlan = { port: number; tenants: OverloadTenant[] }

const TICK_MS = 5
/** After the last request, the time for the answers to arrive. */
const DRAIN_MS = 10_000
const BODY = '<p>Hello {{email}}, this is the news of the week.</p>'.repeat(40)
const HEADERS_END = '\r\n\r\n'

// A separate process, with as little work per request as possible: it shares two cores with the node that it measures.
const plan = JSON.parse(process.argv[2]!) as OverloadPlan
let number = 0

type Request = { text: string; address: string; isSend: boolean }
type Connection = { socket: Socket; received: string; request: Request | undefined; sentAt: number }

function nextRequest(): Request {
  const n = ++number
  const { secret, domain } = plan.tenants[n % plan.tenants.length]!
  const address = `r${n}@receiver.example`
  const isSend = Math.floor(n / plan.tenants.length) % 2 === 0
  const body = isSend
    ? JSON.stringify({ to: address, from: `news@${domain}`, subject: `News ${n}`, body: BODY })
    : JSON.stringify({ email: address, data: { n } })
  const head = `POST ${isSend ? '/v1/send' : '/contacts'} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json`
  return { text: `${head}\r\nContent-Length: ${Buffer.byteLength(body)}${HEADERS_END}${body}`, address, isSend }
}

async function carryOut({ perSecond, seconds, connections }: LoadOrder): Promise<LoadOutcome> {
  const outcome: LoadOutcome = {
    offered: 0,
    skipped: 0,
    statuses: {},
    withoutRetryAfter: 0,
    resets: 0,
    p50: 0,
    p99: 0,
    emails: [],
    contacts: [],
    unanswered: 0,
  }
  const times: number[] = []
  const idle: Connection[] = []
  const open = new Set<Connection>()
  const endsAt = performance.now() + seconds * 1_000
  const isOpenLoop = perSecond !== undefined

  function dial() {
    const connection: Connection = {
      socket: connect({ port: plan.port, host: '127.0.0.1', noDelay: true }),
      received: '',
      request: undefined,
      sentAt: 0,
    }
    open.add(connection)
    connection.socket.setEncoding('latin1')
    connection.socket.on('data', (chunk: string) => read(connection, chunk))
    connection.socket.on('error', () => {})
    connection.socket.on('close', () => lose(connection))
    return connection
  }

  function lose(connection: Connection) {
    if (!open.delete(connection)) return
    outcome.resets++
    if (connection.request) outcome.unanswered++
    const at = idle.indexOf(connection)
    if (at >= 0) idle.splice(at, 1)
    if (!isOpenLoop && performance.now() < endsAt) ask(dial())
  }

  function ask(connection: Connection) {
    outcome.offered++
    connection.request = nextRequest()
    connection.sentAt = performance.now()
    connection.socket.write(connection.request.text)
  }

  function read(connection: Connection, chunk: string) {
    connection.received += chunk
    const headEnd = connection.received.indexOf(HEADERS_END)
    if (headEnd < 0) return
    const head = connection.received.slice(0, headEnd)
    const end = headEnd + HEADERS_END.length + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (connection.received.length < end) return
    record(connection, { status: head.slice(9, 12), head, body: connection.received.slice(headEnd + HEADERS_END.length, end) })
    connection.received = connection.received.slice(end)
    connection.request = undefined
    if (isOpenLoop) idle.push(connection)
    else if (performance.now() < endsAt) ask(connection)
  }

  function record({ request, sentAt }: Connection, { status, head, body }: { status: string; head: string; body: string }) {
    outcome.statuses[status] = (outcome.statuses[status] ?? 0) + 1
    if ((status === '429' || status === '503') && !/^retry-after: \d/im.test(head)) outcome.withoutRetryAfter++
    if (!status.startsWith('2')) return
    times.push(performance.now() - sentAt)
    if (request!.isSend) outcome.emails.push(JSON.parse(body).data.emails[0].email)
    else outcome.contacts.push(request!.address)
  }

  if (isOpenLoop) await offer(perSecond)
  else {
    for (let n = 0; n < connections; n++) ask(dial())
    await sleep(endsAt - performance.now())
  }
  for (const until = performance.now() + DRAIN_MS; performance.now() < until && [...open].some(({ request }) => request); ) await sleep(50)
  const left = [...open]
  open.clear()
  for (const { socket, request } of left) {
    if (request) outcome.unanswered++
    socket.destroy()
  }
  times.sort((a, b) => a - b)
  const quantile = (share: number) => times[Math.floor((times.length - 1) * share)] ?? 0
  return { ...outcome, p50: quantile(0.5), p99: quantile(0.99) }

  /** What is due in each tick leaves at once, over free connections and then over new ones. */
  async function offer(rate: number) {
    const startedAt = performance.now()
    for (let due = 0; performance.now() < endsAt; await sleep(TICK_MS)) {
      for (const wanted = ((performance.now() - startedAt) / 1_000) * rate; due < wanted; due++) {
        const free = idle.pop() ?? (open.size < connections ? dial() : undefined)
        if (free) ask(free)
        else outcome.skipped++
      }
    }
  }
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.max(0, ms)))

process.on('message', async (order: LoadOrder) => process.send!(await carryOut(order)))
process.send!('ready')
