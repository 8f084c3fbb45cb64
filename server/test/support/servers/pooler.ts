import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import pg from 'pg'

type Options = {
  /** Server connections, used in turn. */
  size?: number
  /** In session mode a client keeps its server connection until it leaves. */
  mode?: 'transaction' | 'session'
  /** Startup parameters that are taken and not passed on, as by `ignore_startup_parameters`. */
  ignores?: string[]
  /** `max_prepared_statements` above 0, as of PgBouncer 1.21. Otherwise names go to whatever server connection there is, as before. */
  tracksStatements?: boolean
  /** Runs once on each server connection. */
  connectQuery?: string
}
/** `hidden`: the client did not send it. `end`: of a request, answered by ReadyForQuery. */
type Expected = { is: 'parse' | 'end'; hidden?: boolean; name?: string }
type Server = { pid: number; stream: Socket; prepared: Set<string>; expected: Expected[]; inRequest: boolean; client?: Client | undefined }
type Client = { socket: Socket; backlog: Buffer[]; statements: Map<string, Buffer>; server?: Server | undefined }

const [SSL, GSS, CANCEL] = [80877103, 80877104, 80877102]
const PARAMETERS = ['user', 'database', 'application_name', 'client_encoding', 'datestyle', 'timezone', 'standard_conforming_strings']
const STATUS = {
  server_version: '15',
  client_encoding: 'UTF8',
  standard_conforming_strings: 'on',
  integer_datetimes: 'on',
  DateStyle: 'ISO, MDY',
}

/**
 * A pooler as PgBouncer is one: between two transactions a client loses its server connection, and with it settings, locks and listening.
 * Every password is accepted. `url` is that of a server, and gives the user and the database of all clients.
 */
export async function startPooler(
  url: string,
  { size = 3, mode = 'transaction', ignores = [], tracksStatements = true, connectQuery }: Options = {},
) {
  const { origin, user, database } = serverOf(url)
  const [servers, clients] = [new Set<Server>(), new Set<Client>()]
  const [idle, waiting] = [[] as Server[], [] as Client[]]
  /** Names of statements by their text and types, shared by all clients. */
  const names = new Map<string, string>()
  let opening = 0
  let stopped = false

  async function openServer() {
    const connection = new pg.Client({ connectionString: origin, application_name: 'pooler' })
    connection.on('error', () => {})
    await connection.connect()
    if (connectQuery) await connection.query(connectQuery)
    const { stream } = (connection as unknown as { connection: { stream: Socket } }).connection
    const { processID: pid } = connection as unknown as { processID: number }
    const server: Server = { pid, stream, prepared: new Set(), expected: [], inRequest: false }
    // From here on the connection is ours, and pg must not read it.
    stream.removeAllListeners('data')
    stream.on(
      'data',
      messagesIn((message) => fromServer(server, message)),
    )
    stream.on('close', () => {
      servers.delete(server)
      if (idle.includes(server)) idle.splice(idle.indexOf(server), 1)
      server.client?.socket.destroy()
      serve()
    })
    servers.add(server)
    idle.push(server)
  }

  /** Gives server connections to the clients that wait, oldest first, and opens more while there are fewer than `size`. */
  function serve() {
    while (waiting.length && idle.length) {
      const [client, server] = [waiting.shift()!, idle.shift()!]
      client.server = server
      server.client = client
      for (const message of client.backlog.splice(0)) toServer(client, server, message)
    }
    if (stopped || !waiting.length || servers.size + opening >= size) return
    opening++
    const refuse = () => {
      for (const { socket } of waiting.splice(0)) socket.destroy()
    }
    openServer()
      .catch(refuse)
      .finally(() => {
        opening--
        serve()
      })
  }

  function greet(socket: Socket) {
    const client: Client = { socket, backlog: [], statements: new Map() }
    clients.add(client)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => {
      clients.delete(client)
      if (waiting.includes(client)) waiting.splice(waiting.indexOf(client), 1)
      // In the middle of a transaction, or of a session: nobody else may have that connection.
      client.server?.stream.destroy()
    })
    const read = messagesIn((message) => fromClient(client, message))
    socket.on('data', function begin(chunk: Buffer) {
      const length = chunk.readInt32BE(0)
      const code = chunk.readInt32BE(4)
      if (code === SSL || code === GSS) return void socket.write('N')
      if (code === CANCEL) return void socket.destroy()
      socket.off('data', begin).on('data', read)
      const known = [...PARAMETERS, ...ignores]
      const unknown = startupParameters(chunk.subarray(8, length)).find((name) => !known.includes(name.toLowerCase()))
      if (unknown) return void socket.end(refusal(`unsupported startup parameter: ${unknown}`))
      const key = Buffer.concat([int32(randomInt(2 ** 20, 2 ** 31)), int32(0)])
      const status = Object.entries(STATUS).map(([name, value]) => frame('S', text(name), text(value)))
      socket.write(Buffer.concat([frame('R', int32(0)), ...status, frame('K', key), frame('Z', Buffer.from('I'))]))
      if (chunk.length > length) read(chunk.subarray(length))
    })
  }

  function fromClient(client: Client, message: Buffer) {
    if (typeOf(message) === 'X') return void client.socket.destroy()
    if (client.server) return toServer(client, client.server, message)
    client.backlog.push(message)
    if (!waiting.includes(client)) waiting.push(client)
    serve()
  }

  function toServer({ statements }: Client, server: Server, message: Buffer) {
    const type = typeOf(message)
    if (type === 'S' || type === 'Q') server.expected.push({ is: 'end' })
    // Messages of a COPY do not begin a request.
    if (!'dcf'.includes(type)) server.inRequest = type !== 'S' && type !== 'Q'
    if (type === 'P') return parse(server, statements, message)
    if (tracksStatements && 'BDC'.includes(type)) return void server.stream.write(withSharedName(server, statements, message))
    server.stream.write(message)
  }

  function parse(server: Server, statements: Map<string, Buffer>, message: Buffer) {
    const [name, definition] = cut(message.subarray(5))
    if (!tracksStatements || !name) {
      server.expected.push({ is: 'parse' })
      return void server.stream.write(message)
    }
    statements.set(name, definition)
    const shared = sharedName(definition)
    // What the server connection knows already is answered by an empty statement without a name.
    if (server.prepared.has(shared)) {
      server.expected.push({ is: 'parse' })
      return void server.stream.write(frame('P', text(''), text(''), Buffer.alloc(2)))
    }
    prepare(server, definition)
  }

  function prepare(server: Server, definition: Buffer, hidden = false) {
    const name = sharedName(definition)
    server.prepared.add(name)
    server.expected.push({ is: 'parse', hidden, name })
    server.stream.write(frame('P', text(name), definition))
  }

  const sharedName = (definition: Buffer) => {
    const key = definition.toString('latin1')
    const name = names.get(key) ?? `pooled_${names.size}`
    names.set(key, name)
    return name
  }

  /** Bind, Describe or Close with the shared name, after a Parse that the client does not see if this server connection lacks the statement. */
  function withSharedName(server: Server, statements: Map<string, Buffer>, message: Buffer) {
    const type = typeOf(message)
    const body = message.subarray(5)
    const [portal, rest] = type === 'B' ? cut(body) : ['', body.subarray(1)]
    const [name, values] = cut(rest)
    const definition = type === 'B' || body[0] === 'S'.charCodeAt(0) ? statements.get(name) : undefined
    if (!definition) return message
    // The statement itself stays: other clients may use it. Closing an unknown name is not an error.
    if (type === 'C') return frame('C', Buffer.from('S'), text('unknown'))
    if (!server.prepared.has(sharedName(definition))) prepare(server, definition, true)
    const shared = text(sharedName(definition))
    return type === 'B' ? frame('B', text(portal), shared, values) : frame('D', Buffer.from('S'), shared)
  }

  function fromServer(server: Server, message: Buffer) {
    const type = typeOf(message)
    if (type === '1' && server.expected.shift()?.hidden) return
    // The rest of the request is skipped.
    if (type === 'E') while (server.expected[0]?.is === 'parse') server.prepared.delete(server.expected.shift()!.name ?? '')
    server.client?.socket.write(message)
    if (type !== 'Z') return
    server.expected.shift()
    const isIdle = message[5] === 'I'.charCodeAt(0)
    if (mode === 'session' || !isIdle || server.expected.length || server.inRequest || !server.client) return
    server.client.server = undefined
    server.client = undefined
    idle.push(server)
    serve()
  }

  const listener = createServer(greet).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    url: `postgres://${user}@127.0.0.1:${(listener.address() as AddressInfo).port}/${database}`,
    /** Process ids of the server connections. */
    pids: () => [...servers].map(({ pid }) => pid),
    async stop() {
      stopped = true
      for (const { socket } of clients) socket.destroy()
      for (const { stream } of servers) stream.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}

/** Settings in the URL are those of a client, not of a server connection. */
function serverOf(url: string) {
  const [, user = '', rest = '', database = '', host = ''] =
    /^postgres(?:ql)?:\/\/([^:@]*)([^/]*)\/([^?]+)(?:.*[?&](host=[^&]+))?/.exec(url) ?? []
  return { origin: `postgres://${user}${rest}/${database}${host && `?${host}`}`, user, database }
}

const typeOf = (message: Buffer) => String.fromCharCode(message[0]!)
const text = (value: string) => Buffer.from(`${value}\0`)
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
const frame = (type: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}
const refusal = (message: string) => frame('E', text('SFATAL'), text('VFATAL'), text('C08P01'), text(`M${message}`), Buffer.alloc(1))

/** The string at the beginning, and what follows it. */
const cut = (body: Buffer): [string, Buffer] => {
  const end = body.indexOf(0)
  return [body.toString('utf8', 0, end), body.subarray(end + 1)]
}

const startupParameters = (body: Buffer) =>
  body
    .toString('utf8')
    .split('\0')
    .filter((name, index) => index % 2 === 0 && name !== '')

/** Splits what arrives on a connection into messages. */
function messagesIn(handle: (message: Buffer) => void) {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk: Buffer) => {
    rest = rest.length ? Buffer.concat([rest, chunk]) : chunk
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const length = rest.readInt32BE(1) + 1
      const message = rest.subarray(0, length)
      rest = rest.subarray(length)
      handle(message)
    }
  }
}
