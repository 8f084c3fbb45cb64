import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/** Forwards to the socket of a PostgreSQL server, which has one file in its folder. */
export type Target = { socketFolder: string }

/**
 * A TCP proxy with one address for whichever PostgreSQL server is the primary, like HAProxy in front of Patroni: pointed to another server, it cuts
 * all connections to the former one. Without a target it cuts new connections too.
 */
export async function startForwarder(first?: Target, { port = 0 } = {}) {
  const sockets = new Set<Socket>()
  let target = first

  const server = createServer((client) => {
    if (!target) return void client.destroy()
    const upstream = connect(join(target.socketFolder, '.s.PGSQL.5432'))
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    pointTo(next: Target | undefined) {
      target = next
      for (const socket of sockets) socket.destroy()
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
