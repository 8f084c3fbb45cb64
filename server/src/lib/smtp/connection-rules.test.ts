import type { Socket } from 'node:net'
import type { SMTPServer } from 'smtp-server'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { setConnectionRules } from './connection-rules.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** A connection of the library, as far as the rules look at it. `run`: commands that it was given. */
function newConnection(remoteAddress: string) {
  const written: string[] = []
  const socket = { writableCorked: 0, cork: () => socket.writableCorked++, uncork: () => socket.writableCorked-- }
  const connection = {
    _socket: socket,
    _closing: false,
    _closed: false,
    session: { remoteAddress },
    run: 0,
    _onCommand() {
      connection.run++
    },
    send: (code: number) => void written.push(`${code}${socket.writableCorked ? ' held' : ''}`),
  }
  return { connection, socket, written }
}

function connectAll(...given: ReturnType<typeof newConnection>[]) {
  const connections = new Set<unknown>()
  let next = 0
  const server = { connections, connect: () => connections.add(given[next++]!.connection) } as unknown as SMTPServer
  setConnectionRules(server)
  for (const _ of given) server.connect({} as Socket)
  return given.map(({ connection }) => (count: number) => {
    for (let n = 0; n < count; n++) (connection._onCommand as (command: Buffer) => void)(Buffer.alloc(0))
    return connection.run
  })
}

describe('commands', () => {
  test('that come at once are read over time: a hundred each 20 ms, counted for all connections of a network', async () => {
    const given = ['192.0.2.1', '192.0.2.1', '198.51.100.1'].map(newConnection)
    const [first, second, other] = connectAll(...given) as [(count: number) => number, (count: number) => number, (count: number) => number]
    // The last of two hundred waits for those before it.
    expect([first(199), first(1)]).toEqual([199, 199])
    expect([second(99), second(1)]).toEqual([99, 99])
    expect(other(100)).toBe(100)
    await vi.advanceTimersByTimeAsync(20)
    expect(given.map(({ connection }) => connection.run)).toEqual([200, 99, 100])
    await vi.advanceTimersByTimeAsync(20)
    expect(given.map(({ connection }) => connection.run)).toEqual([200, 100, 100])
  })

  test('of a connection that has ended meanwhile are not run', async () => {
    const given = newConnection('192.0.2.1')
    const [run] = connectAll(given) as [(count: number) => number]
    run(200)
    given.connection._closed = true
    await vi.advanceTimersByTimeAsync(1_000)
    expect(given.connection.run).toBe(199)
  })
})

test('replies to commands that are run together are held until the last, except before a TLS handshake', async () => {
  const given = newConnection('192.0.2.1')
  const { connection, socket, written } = given
  connectAll(given)
  connection.send(220)
  for (const code of [250, 452]) connection.send(code)
  expect([written, socket.writableCorked]).toEqual([['220', '250 held', '452 held'], 1])
  await new Promise((resolve) => process.nextTick(resolve))
  expect(socket.writableCorked).toBe(0)
})
