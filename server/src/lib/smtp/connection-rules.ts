import type { Socket } from 'node:net'
import type { SMTPServer, SMTPServerSession } from 'smtp-server'
import { networkOf } from '../network/network.ts'
import { createPaceByKey } from './pace.ts'

type Connection = Parameters<SMTPServer['connections']['add']>[0]

/** Commands of one key per second, over all of its connections. They take less than a tenth of a processor. */
const COMMANDS_PER_SECOND = 5_000
/** Commands after which a connection may have to wait. */
const STEP = 100

type Options = {
  /** The key that commands are counted for; without it, the network. */
  paceBy?: ((session: SMTPServerSession) => string) | undefined
  onConnection?: (socket: Socket, connection: Connection) => void
}

/** Applies to all connections, from their first reply on. */
export function setConnectionRules(
  server: SMTPServer,
  { paceBy = ({ remoteAddress }) => networkOf(remoteAddress), onConnection }: Options = {},
) {
  const pace = createPaceByKey({ perSecond: COMMANDS_PER_SECOND, step: STEP })
  const connect = server.connect.bind(server)
  server.connect = (socket, options) => {
    connect(socket, options)
    const connection = [...server.connections].at(-1)
    if (!connection) return
    onConnection?.(socket, connection)
    sendExactCodes(connection)
    joinReplies(connection)
    paceCommands(connection, paceBy, pace())
  }
}

const EXACT = /^[245]\.\d{1,3}\.\d{1,3} /

/** A reply that begins with an enhanced code keeps it; the library would add one of its own. An address that it cannot read is 550. */
function sendExactCodes(connection: Connection) {
  const send = connection.send.bind(connection)
  connection.send = (code, data, context) => {
    if (context === 'MAILBOX_SYNTAX_ERROR') return send(550, '5.1.3 Not a valid email address', false)
    return send(code, data, typeof data === 'string' && EXACT.test(data) ? false : context)
  }
}

/** Replies to commands that arrived together leave together: a write takes longer than the rest of a command. */
function joinReplies(connection: Connection) {
  const send = connection.send.bind(connection)
  connection.send = (code, data, context) => {
    const socket = connection._socket
    // 220 comes before a TLS handshake, for which the library takes the socket over at once.
    if (code !== 220 && !socket.writableCorked) {
      socket.cork()
      process.nextTick(() => socket.uncork())
    }
    send(code, data, context)
  }
}

/** A client may send any number of commands at once, such as RCPT and NOOP: they are read no faster than others can bear. */
function paceCommands(
  connection: Connection,
  paceBy: (session: SMTPServerSession) => string,
  count: ReturnType<ReturnType<typeof createPaceByKey>>,
) {
  const run = connection._onCommand.bind(connection)
  connection._onCommand = (command, next) => {
    const ms = count(paceBy(connection.session), 1)
    if (ms < 1) return run(command, next)
    setTimeout(() => (connection._closing || connection._closed ? next?.() : run(command, next)), ms).unref()
  }
}
