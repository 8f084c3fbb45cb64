import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { SMTPServer, SMTPServerSession } from 'smtp-server'
import { groupBy } from '../collections/group-by.ts'
import { createCounts } from '../fair/counts.ts'
import { networkOf } from '../network/network.ts'
import { cutOffs } from '../process/metrics.ts'
import { SECOND } from '../text/units.ts'

type Connection = Parameters<SMTPServer['connections']['add']>[0]

type Options = {
  connectionMs: number
  connections: number
  connectionsOfOne: number
  /** Time in which a network's only connection is expected to log in. */
  freshMs?: number
  /** The owner that a session has logged in for. Without it nobody logs in. */
  ownerOf?: (session: SMTPServerSession) => string | undefined
}

/** One open connection, from its first packet on. */
type Open = {
  socket: Socket
  network: string
  since: number
  deadline: NodeJS.Timeout
  /** After the handshake, if TLS comes first. */
  connection?: Connection
  /** When the message that is arriving began; 0 without one, or when it has arrived. */
  messageSince: number
  /** A message is arriving or being stored. */
  hasMessage: boolean
}

export type SmtpSockets = ReturnType<typeof createSmtpSockets>

const TOO_MANY = '4.3.2 Too many connections. Try again in a moment'
/** Time for a message. A longer one may be ended if no connection of its network or owner is idle. */
const MESSAGE_MS = 10 * SECOND

/**
 * All open connections. When there are too many, a new one takes the place of an old one of the network or owner with the most: holding
 * connections keeps no other client out.
 */
export function createSmtpSockets({ connectionMs, connections, connectionsOfOne, freshMs = 0, ownerOf = () => undefined }: Options) {
  const open = new Set<Open>()
  const byNetwork = createCounts()
  const bySession = new WeakMap<SMTPServerSession, Open>()
  /** With TLS from the start, the library has a socket of its own, with the addresses of the first. */
  const byAddress = new Map<string, Open>()

  function forget(each: Open) {
    if (open.delete(each)) byNetwork.change(each.network, -1)
  }

  function end(each: Open) {
    clearTimeout(each.deadline)
    forget(each)
  }

  /** Later, because the library makes its connection in the turn after this one. */
  const drop = (server: SMTPServer, each: Open) => {
    forget(each)
    cutOffs.inc({ what: 'connection' })
    setImmediate(() => {
      const { connection, socket } = each
      // Destroying a socket below a handshake would crash the process, so the one on top is.
      if (!connection) return void (server._pendingSockets.get(socket) ?? socket).destroy()
      connection.send(421, TOO_MANY)
      if (!connection._upgrading) connection._socket.destroySoon()
    })
  }

  return {
    add(server: SMTPServer, socket: Socket) {
      const network = networkOf(socket.remoteAddress ?? '')
      const deadline = setTimeout(() => socket.destroy(), connectionMs).unref()
      const added: Open = { socket, network, deadline, since: performance.now(), messageSince: 0, hasMessage: false }
      const address = addressOf(socket)
      open.add(added)
      byNetwork.change(network, 1)
      byAddress.set(address, added)
      socket.once('close', () => {
        end(added)
        if (byAddress.get(address) === added) byAddress.delete(address)
      })
      if (open.size <= connections) return
      const isAllowed = byNetwork.of(network) <= connectionsOfOne
      drop(
        server,
        (isAllowed &&
          chooseDropped([...open], added, { freshMs, ownerOf: ({ connection }) => connection && ownerOf(connection.session) })) ||
          added,
      )
    },
    /** The library has made its connection. */
    connected(socket: Socket, connection: Connection) {
      const address = addressOf(socket)
      const found = byAddress.get(address)
      if (!found) return
      byAddress.delete(address)
      found.connection = connection
      bySession.set(connection.session, found)
    },
    /** STARTTLS takes the listeners off the socket, so its end is told by the library. */
    ended(session: SMTPServerSession) {
      const found = bySession.get(session)
      if (found) end(found)
    },
    /** The connection has a message in progress until the returned function is called. */
    beginMessage(session: SMTPServerSession, stream: Readable) {
      const found = bySession.get(session)
      if (!found) return () => {}
      found.hasMessage = true
      found.messageSince = performance.now()
      stream.once('end', () => (found.messageSince = 0))
      return () => {
        found.hasMessage = false
        found.messageSince = 0
      }
    },
    isOverLimit: (ip: string) => byNetwork.of(networkOf(ip)) > connectionsOfOne,
    destroy() {
      for (const { socket } of open) socket.destroy()
    },
  }
}

const addressOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`

type Choice = { freshMs: number; ownerOf: (each: Open) => string | undefined }

/**
 * The connection to end: the oldest without a login of the network with the most of these, else the oldest idle one of the owner with the most.
 * A network's only one has some seconds to log in, so that new clients do not end each other while one owner holds the rest.
 */
function chooseDropped(open: Open[], added: Open, { freshMs, ownerOf }: Choice): Open | undefined {
  const now = performance.now()
  const owners = new Map(open.map((each) => [each, ownerOf(each)]))
  const [strangers, clients] = [
    largestFirst(
      open.filter((each) => !owners.get(each)),
      ({ network }) => network,
    ),
    largestFirst(
      open.filter((each) => owners.get(each)),
      (each) => owners.get(each)!,
    ),
  ]
  const settled = strangers.filter(([first, second]) => second || now - first!.since > freshMs)
  return oldestOfLargest(settled, added, now) ?? oldestOfLargest(clients, added, now) ?? oldestOfLargest(strangers, added, now)
}

/** Of equal ones first that with the oldest connection. */
const largestFirst = (open: Open[], keyOf: (each: Open) => string) => [...groupBy(open, keyOf).values()].sort((a, b) => b.length - a.length)

function oldestOfLargest(groups: Open[][], added: Open, now: number): Open | undefined {
  for (const group of groups) {
    const others = group.filter((each) => each !== added)
    const idle = others.find(({ hasMessage }) => !hasMessage)
    const slow = others.find(({ messageSince }) => messageSince > 0 && now - messageSince > MESSAGE_MS)
    if (idle ?? slow) return idle ?? slow
  }
  return undefined
}
