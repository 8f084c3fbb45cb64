import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/**
 * A TCP proxy in front of PostgreSQL that can drop all packets silently, like a router that has lost its connection table.
 * Connections that were open at that time stay dead; after `heal` new ones work.
 */
export async function startProxy(databaseUrl: string) {
  const [, credentials, name, folder] = /^postgres:\/\/(.*)@\/(\w+)\?host=([^&]+)/.exec(databaseUrl)!
  const socketPath = join(decodeURIComponent(folder!), '.s.PGSQL.5432')
  const sockets = new Set<Socket>()
  let epoch = 0
  let silent = false
  let connections = 0

  const server = createServer((client) => {
    connections++
    const born = epoch
    const upstream = connect(socketPath)
    const isLost = () => silent || born !== epoch
    const pass = (from: Socket, to: Socket) => {
      sockets.add(from)
      from.on('data', (chunk) => isLost() || to.write(chunk))
      from.on('close', () => isLost() || to.destroy())
      from.on('error', () => {})
    }
    pass(client, upstream)
    pass(upstream, client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `postgres://${credentials}@127.0.0.1:${(server.address() as AddressInfo).port}/${name}`,
    connections: () => connections,
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
