import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/**
 * A TCP proxy in front of PostgreSQL that can drop all packets silently, like a router that has lost its connection table.
 * Connections that were open at that time stay dead; after `heal` new ones work.
 */
export async function startProxy(databaseUrl: string, { port = 0 } = {}) {
  const [, credentials, name, folder] = /^postgres:\/\/(.*)@\/(\w+)\?host=([^&]+)/.exec(databaseUrl)!
  const socketPath = join(decodeURIComponent(folder!), '.s.PGSQL.5432')
  const sockets = new Set<Socket>()
  let epoch = 0
  let silent = false
  let connections = 0
  let isIgnored: (startup: string) => boolean = () => false

  const server = createServer((client) => {
    connections++
    const born = epoch
    const upstream = connect(socketPath)
    let ignored = false
    client.once('data', (startup) => (ignored = isIgnored(startup.toString('latin1'))))
    const isLost = () => silent || born !== epoch || ignored
    const pass = (from: Socket, to: Socket) => {
      sockets.add(from)
      from.on('data', (chunk) => isLost() || to.write(chunk))
      from.on('close', () => isLost() || to.destroy())
      from.on('error', () => {})
    }
    pass(client, upstream)
    pass(upstream, client)
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `postgres://${credentials}@127.0.0.1:${(server.address() as AddressInfo).port}/${name}`,
    connections: () => connections,
    /** Answers no new connection of this application, until it is called with none. */
    ignore(application?: string) {
      isIgnored = (startup) => application !== undefined && startup.includes(`application_name\0${application}\0`)
    },
    drop() {
      silent = true
      epoch++
    },
    heal() {
      silent = false
      epoch++
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
