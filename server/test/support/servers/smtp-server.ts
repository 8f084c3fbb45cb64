import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync, writeSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** Replies that a test sets for a command, instead of the default. The argument is the address of MAIL or RCPT. */
type Script = Partial<Record<'greeting' | 'EHLO' | 'HELO' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'dot', (argument: string) => Scripted>>
type Scripted = string | undefined | Promise<string | undefined>

/** An accepted message, as the receiver sees it. */
export type ReceivedMessage = {
  id: string
  messageId: string
  subject: string
  /** Hash of all bytes between DATA and the final dot, as on the wire. */
  hash: string
  at: number
  sender: string
  recipients: string[]
  connection: number
}

type Options = {
  port?: number
  /** Gets one line per message, written before the reply that accepts it. */
  logFile?: string
  /** Offers AUTH and refuses every login. */
  refuseLogins?: boolean
  /** Closes a connection after this idle time. */
  idleMs?: number
  extensions?: string[]
  /** Sends no greeting. */
  silent?: boolean
  /** Stops reading at DATA until `resumeReading` is called. */
  stopAtData?: boolean
}

type Session = {
  socket: Socket
  number: number
  sender: string
  recipients: string[]
  behaviour: string
  inData: boolean
  refused: boolean
  /** A scripted reply is not there yet: commands that were sent with it have to wait. */
  waits: boolean
  received: Buffer
  searched: number
}

const END = Buffer.from('\r\n.\r\n')
const BIG_REPLY = 1_000_000

/**
 * An SMTP server that accepts every message. The part of the recipient's address before a plus sign changes its behaviour:
 *   d200      replies to the final dot after 200 ms
 *   t451      refuses the recipient with that code; t451dot refuses the message at its end; p550, p554dot the same, permanently
 *   hang-dot  accepts the message and never replies; rst-dot accepts it and resets the connection
 *   rst-data  resets the connection before the final dot: not accepted
 *   early     refuses in the middle of the message
 *   …once     any of these, but only at the first message to that address
 *   garbage, big, slow, multi   accepts it, and replies with an invalid line, too many bytes, byte by byte, several lines
 */
export async function startSmtpServer(options: Options = {}) {
  const { port = 0, logFile, refuseLogins = false, idleMs, extensions = ['PIPELINING', '8BITMIME'], silent, stopAtData } = options
  const messages: ReceivedMessage[] = []
  const bodies = new Map<string, string>()
  const commands: string[] = []
  const open = new Set<Socket>()
  const log = logFile === undefined ? undefined : openSync(logFile, 'a')
  /** Refuses every recipient with this code while it is set. */
  const outage: { refusal: string | undefined } = { refusal: undefined }
  const seen = new Set<string>()
  const script: Script = {}
  let connections = 0

  /** Chosen at RCPT; holds for the whole message. */
  function chooseBehaviour(address: string) {
    const asked = address.split(/[+@]/)[0]!
    if (!asked.endsWith('once')) return asked
    const isFirst = !seen.has(address)
    seen.add(address)
    return isFirst ? asked.slice(0, -'once'.length) : 'ok'
  }

  function accept({ sender, recipients, number }: Session, content: Buffer) {
    const text = content.toString('latin1')
    const head = (name: string) => new RegExp(`^${name}: *(.*)\\r$`, 'im').exec(text)?.[1]?.trim() ?? ''
    const hash = createHash('sha256').update(content).digest('hex')
    const envelope = { sender, recipients, connection: number }
    const message = { id: head('X-Sterna-Id'), messageId: head('Message-ID'), subject: head('Subject'), hash, at: Date.now(), ...envelope }
    if (log === undefined) {
      messages.push(message)
      bodies.set(message.id, text)
    } else writeSync(log, `${JSON.stringify(message)}\n`)
  }

  function endOfData(session: Session, content: Buffer) {
    const { socket, behaviour } = session
    const scripted = script.dot?.(session.recipients[0] ?? '')
    if (typeof scripted === 'string') return reply(socket, scripted)
    const code = /^[tp](\d{3})dot$/.exec(behaviour)?.[1]
    if (code) return reply(socket, refusal(code))
    accept(session, content)
    const delay = /^d(\d+)$/.exec(behaviour)?.[1]
    if (delay) setTimeout(() => reply(socket, '250 2.0.0 Ok: taken'), Number(delay))
    else if (behaviour === 'rst-dot') socket.resetAndDestroy()
    else if (behaviour === 'garbage') reply(socket, 'certainly, dear friend')
    else if (behaviour === 'big') reply(socket, `250-${'x'.repeat(BIG_REPLY)}`)
    else if (behaviour === 'slow') void byteByByte(socket, '250 2.0.0 Ok: taken\r\n')
    else if (behaviour === 'multi') {
      socket.write('250-2.0.0 Taken, and\r\n250-the')
      setTimeout(() => socket.write(' second line\r\n2'), 20)
      setTimeout(() => socket.write('50 is not the last\r\n'), 40)
    } else if (behaviour !== 'hang-dot') reply(socket, '250 2.0.0 Ok: taken')
  }

  function handleCommand(session: Session, line: string) {
    const { socket } = session
    const verb = line.split(' ')[0]!.toUpperCase()
    commands.push(line)
    const scripted = script[verb as 'MAIL']?.(addressIn(line))
    if (typeof scripted === 'string') return reply(socket, scripted)
    if (scripted) {
      socket.pause()
      session.waits = true
      void scripted.then((answer) => {
        if (verb === 'MAIL') session.sender = addressIn(line)
        if (verb === 'RCPT') session.recipients.push(addressIn(line))
        reply(socket, answer ?? '250 2.0.0 Ok')
        session.waits = false
        socket.resume()
        onData(session, Buffer.alloc(0))
      })
      return
    }
    if (verb === 'EHLO') return reply(socket, ehlo())
    if (verb === 'AUTH') return reply(socket, '535 5.7.8 Credentials are not accepted')
    if (verb === 'RSET') Object.assign(session, { sender: '', recipients: [] })
    if (verb === 'QUIT') return socket.end('221 2.0.0 Bye\r\n')
    if (verb === 'MAIL') {
      if (session.sender) return reply(socket, '503 5.5.1 Nested MAIL command')
      session.sender = addressIn(line)
    }
    if (verb === 'RCPT') return reply(socket, answerRecipient(session, addressIn(line)))
    if (verb === 'DATA') {
      if (!session.recipients.length) return reply(socket, '503 5.5.1 No recipients')
      session.inData = true
      if (stopAtData) socket.pause()
      return reply(socket, '354 Go on')
    }
    // It offers no encryption. Taken for accepted, the client would wait for a handshake until its time is over.
    if (verb === 'STARTTLS') return reply(socket, '502 5.5.1 Command not implemented')
    reply(socket, '250 2.0.0 Ok')
  }

  const ehlo = () => {
    const lines = ['sink', ...extensions, ...(refuseLogins ? ['AUTH PLAIN LOGIN'] : [])]
    return lines.map((line, index) => `250${index === lines.length - 1 ? ' ' : '-'}${line}`).join('\r\n')
  }

  function answerRecipient(session: Session, address: string) {
    session.behaviour = chooseBehaviour(address)
    const code = outage.refusal ?? /^[tp](\d{3})$/.exec(session.behaviour)?.[1]
    if (code) return refusal(code)
    session.recipients.push(address)
    return '250 2.1.5 Ok'
  }

  function onData(session: Session, chunk: Buffer) {
    session.received = Buffer.concat([session.received, chunk])
    while (!session.waits) {
      if (session.inData) {
        const { behaviour } = session
        if (behaviour === 'rst-data') return void session.socket.resetAndDestroy()
        if (behaviour === 'early' && !session.refused) reply(session.socket, '552 5.3.4 Enough')
        session.refused = behaviour === 'early'
        const end = session.received.indexOf(END, session.searched)
        session.searched = Math.max(0, session.received.length - END.length)
        if (end < 0) return
        const content = session.received.subarray(0, end + 2)
        session.received = session.received.subarray(end + END.length)
        endOfData(session, content)
        Object.assign(session, { sender: '', recipients: [], inData: false, refused: false, searched: 0 })
        continue
      }
      const end = session.received.indexOf('\r\n')
      if (end < 0) return
      const line = session.received.toString('latin1', 0, end)
      session.received = session.received.subarray(end + 2)
      handleCommand(session, line)
    }
  }

  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => {}) // tests kill their clients
    socket.setNoDelay(true)
    if (idleMs) socket.setTimeout(idleMs, () => socket.destroy())
    const state = {
      sender: '',
      recipients: [],
      behaviour: '',
      inData: false,
      refused: false,
      waits: false,
      received: Buffer.alloc(0),
      searched: 0,
    }
    const session: Session = { socket, number: ++connections, ...state }
    socket.on('data', (chunk) => onData(session, chunk))
    const greeting = script.greeting?.('')
    if (typeof greeting === 'string') return void socket.end(`${greeting}\r\n`)
    if (!silent) reply(socket, '220 sink ESMTP')
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}?tls=off`,
    messages,
    /** By email id; dots are still doubled. */
    bodies,
    commands,
    outage,
    script,
    connections: () => connections,
    openConnections: () => open.size,
    reset() {
      for (const socket of open) socket.resetAndDestroy()
    },
    resumeReading() {
      for (const socket of open) socket.resume()
    },
    async stop() {
      for (const socket of open) socket.resetAndDestroy()
      server.close()
      await once(server, 'close')
      if (log !== undefined) closeSync(log)
    },
  }
}

/** 454 has the text by which Amazon SES throttles; other codes concern this message only. */
const refusal = (code: string) =>
  code === '454'
    ? '454 Throttling failure: Maximum sending rate exceeded.'
    : `${code} ${enhanced(code)} ${code === '550' ? 'No such user' : 'Not this one'}`

const enhanced = (code: string) => (code === '550' ? '5.1.1' : `${code[0]}.3.0`)
const addressIn = (line: string) => /<(.*?)>/.exec(line)?.[1] ?? ''

function reply(socket: Socket, line: string) {
  if (!socket.destroyed) socket.write(`${line}\r\n`)
}

async function byteByByte(socket: Socket, text: string) {
  for (const byte of text) {
    if (socket.destroyed) return
    socket.write(byte)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
