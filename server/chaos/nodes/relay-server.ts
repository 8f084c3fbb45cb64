import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** Points of an SMTP session at which a relay may answer badly. The first five concern the client, not an email. */
const STAGES = ['connect', 'greeting', 'ehlo', 'starttls', 'auth', 'mail', 'rcpt', 'data', 'dot'] as const
export type Stage = (typeof STAGES)[number]
type Envelope = { sender: string; recipient: string }

/** What the relay does at one stage, until the rule is removed. Without `reply` and `close` it only answers late. */
export type Rule = {
  stage: Stage
  /** A reply line, or one that depends on the envelope. */
  reply?: string | ((envelope: Envelope) => string)
  /** Hangs up instead of answering. */
  close?: boolean
  /** Never answers. */
  silent?: boolean
  /** At the dot: the message is delivered although the client gets no answer. */
  takes?: boolean
  afterMs?: number
  appliesTo?: (envelope: Envelope) => boolean
}
export type Handle = { met: () => number; remove: () => void }

/** An answer other than the good one. `reply` is empty when the relay hung up. */
export type BadReply = Envelope & { at: number; stage: Stage; reply: string }
export type AcceptedMessage = Envelope & { at: number; id: string; messageId: string }

type Session = Envelope & {
  socket: Socket
  inMessage: boolean
  busy: boolean
  retired: boolean
  /** Bytes that are not parsed yet. Inside a message, only the last few: the mark of its end may begin in them. */
  received: Buffer
  /** The first bytes of the message. */
  head: Buffer
}

const END = Buffer.from('\r\n.\r\n')
const HEAD_BYTES = 64 * 1024
const GOOD: Record<Stage, string> = {
  connect: '',
  greeting: '220 relay ESMTP',
  ehlo: '250-relay\r\n250-8BITMIME\r\n250 AUTH PLAIN',
  starttls: '454 4.7.0 TLS is not available',
  auth: '235 2.7.0 Accepted',
  mail: '250 2.1.0 Ok',
  rcpt: '250 2.1.5 Ok',
  data: '354 Go on',
  dot: '250 2.0.0 Ok: queued',
}
const STAGE_OF: Record<string, Stage> = {
  EHLO: 'ehlo',
  HELO: 'ehlo',
  STARTTLS: 'starttls',
  AUTH: 'auth',
  MAIL: 'mail',
  RCPT: 'rcpt',
  DATA: 'data',
}

/** An SMTP relay that accepts every message, except where a rule says otherwise. It records what it took and every bad answer. */
export async function startRelay() {
  const rules = new Map<Rule, number>()
  const open = new Map<Socket, Session>()
  const said: BadReply[] = []
  const taken: AcceptedMessage[] = []
  let connections = 0

  const ruleFor = (stage: Stage, envelope: Envelope) =>
    [...rules.keys()].findLast((rule) => rule.stage === stage && (rule.appliesTo?.(envelope) ?? true))

  function greet(socket: Socket) {
    const state = { inMessage: false, busy: false, retired: false, received: Buffer.alloc(0), head: Buffer.alloc(0) }
    const session: Session = { socket, sender: '', recipient: '', ...state }
    connections++
    open.set(socket, session)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => {}) // clients may be killed
    socket.setNoDelay(true)
    socket.on('data', (chunk) => read(session, chunk))
    if (!answer(session, 'connect')) answer(session, 'greeting')
  }

  /** True when the relay did not do what the client asked for. */
  function answer(session: Session, stage: Stage): boolean {
    const { socket, sender, recipient } = session
    const envelope = { sender, recipient }
    const rule = ruleFor(stage, envelope)
    if (rule) rules.set(rule, rules.get(rule)! + 1)
    const bad = typeof rule?.reply === 'function' ? rule.reply(envelope) : (rule?.reply ?? '')
    // A command may arrive after the relay has hung up.
    const failed = Boolean(bad || rule?.close || !socket.writable)
    const finish = () => {
      session.busy = false
      if (failed) said.push({ at: Date.now(), stage, reply: bad, sender, recipient })
      if (rule?.close) return void socket.destroy()
      if (stage === 'connect') return
      write(session, bad || goodReply(stage))
      if (bad && (stage === 'greeting' || bad.startsWith('421'))) socket.end()
      endIfRetired(session)
    }
    session.busy = true
    if (rule?.silent) return false
    if (rule?.afterMs) setTimeout(finish, rule.afterMs)
    else finish()
    return failed
  }

  /** STARTTLS is offered only to be refused: a certificate would prove nothing here. */
  const goodReply = (stage: Stage) =>
    stage === 'ehlo' && [...rules.keys()].some((rule) => rule.stage === 'starttls')
      ? GOOD.ehlo.replace('250-8BITMIME', '250-8BITMIME\r\n250-STARTTLS')
      : GOOD[stage]

  function write({ socket }: Session, line: string) {
    if (socket.writable) socket.write(`${line}\r\n`)
  }

  /** Linear in the bytes: this process also measures how long others wait, which reading a long message again and again would lengthen. */
  function read(session: Session, chunk: Buffer) {
    session.received = Buffer.concat([session.received, chunk])
    if (session.inMessage) keepHead(session, chunk)
    for (;;) {
      const { received, inMessage } = session
      const end = received.indexOf(inMessage ? END : '\r\n')
      if (end < 0) {
        if (inMessage) session.received = received.subarray(1 - END.length)
        return
      }
      session.received = received.subarray(end + (inMessage ? END.length : 2))
      if (inMessage) endMessage(session)
      else obey(session, received.toString('latin1', 0, end))
      endIfRetired(session)
    }
  }

  function keepHead(session: Session, chunk: Buffer) {
    const room = HEAD_BYTES - session.head.length
    if (room > 0) session.head = Buffer.concat([session.head, chunk.subarray(0, room)])
  }

  function endMessage(session: Session) {
    const { sender, recipient } = session
    const text = session.head.toString('latin1')
    const head = (name: string) => new RegExp(`^${name}: *(.*)\\r$`, 'im').exec(text)?.[1]?.trim() ?? ''
    const rule = ruleFor('dot', { sender, recipient })
    if (rule?.takes || !(rule?.close || rule?.reply))
      taken.push({ at: Date.now(), id: head('X-Sterna-Id'), messageId: head('Message-ID'), sender, recipient })
    answer(session, 'dot')
    Object.assign(session, { inMessage: false, sender: '', recipient: '', head: Buffer.alloc(0) })
  }

  function obey(session: Session, line: string) {
    const verb = line.split(' ')[0]!.toUpperCase()
    const stage = STAGE_OF[verb]
    if (verb === 'QUIT') return void session.socket.end('221 2.0.0 Bye\r\n')
    if (verb === 'RSET') Object.assign(session, { sender: '', recipient: '' })
    if (!stage) return write(session, '250 2.0.0 Ok')
    if (stage === 'mail') session.sender = addressIn(line)
    if (stage === 'rcpt') session.recipient = addressIn(line)
    const failed = answer(session, stage)
    if (stage === 'mail' && failed) session.sender = ''
    if (stage !== 'data') return
    session.inMessage = !failed
    if (!failed) keepHead(session, session.received)
  }

  const server = createServer(greet)
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const { port } = server.address() as AddressInfo

  /** Ends connections between two messages, as a relay that restarts does: no message is left half answered. */
  function retireConnections() {
    for (const session of open.values()) {
      session.retired = true
      endIfRetired(session)
    }
  }

  function endIfRetired({ retired, busy, inMessage, sender, socket }: Session) {
    if (retired && !busy && !inMessage && !sender) socket.end()
  }

  return {
    url: `smtp://user:password@127.0.0.1:${port}`,
    said,
    taken,
    connections: () => connections,
    retireConnections,
    addRule(rule: Rule): Handle {
      rules.set(rule, 0)
      let met = 0
      return {
        met: () => rules.get(rule) ?? met,
        remove() {
          met = rules.get(rule) ?? met
          rules.delete(rule)
        },
      }
    },
    /** Refuses connections until the returned function is called. */
    refuseConnections() {
      server.close()
      retireConnections()
      return () => listen(port)
    },
    stop() {
      for (const socket of open.keys()) socket.resetAndDestroy()
      if (server.listening) server.close()
    },
  }
}

export type Relay = Awaited<ReturnType<typeof startRelay>>

const addressIn = (line: string) => /<(.*?)>/.exec(line)?.[1] ?? ''
