import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type Answer, decode, encode, type Packet, type RecordType } from 'dns-packet'

type Records = {
  TXT?: (string | string[])[]
  MX?: [number, string][]
  NS?: string[]
  A?: string[]
  AAAA?: string[]
  CNAME?: string[]
  PTR?: string[]
}
/** A function gives each query an answer of its own. */
type Known = Records | Fault | ((type: string) => Records | Fault)
type Fault = 'servfail' | 'refused' | 'hang' | 'garbage' | 'truncated' | 'loop'

const AUTHORITATIVE = 0x0400
const TRUNCATED = 0x0200
const RCODES = { nxdomain: 3, servfail: 2, refused: 5 }

/**
 * A DNS server over UDP and TCP with the records that a test sets; other names do not exist. `TXT: [['a', 'b']]` is one record
 * in two strings. For a `truncated` name only TCP gives the whole answer.
 */
export async function startDnsServer() {
  const names = new Map<string, Known>()
  const queries: string[] = []

  function reply(request: Buffer, overTcp: boolean): Buffer | undefined {
    const query = decode(request)
    const { name, type } = query.questions![0]!
    queries.push(`${type} ${name.toLowerCase()}`)
    const known = names.get(name.toLowerCase())
    const records = typeof known === 'function' ? known(type) : known
    const respond = (flags: number, answers: Answer[] = []) =>
      encode({ type: 'response', id: query.id!, flags: flags | AUTHORITATIVE, questions: query.questions!, answers } as Packet)
    if (records === undefined) return respond(RCODES.nxdomain)
    if (records === 'hang') return undefined
    if (records === 'garbage') return Buffer.concat([request.subarray(0, 2), Buffer.from('848500ff00ff00ff00ffc00cc00cffff', 'hex')])
    if (records === 'loop') return respond(0, [cname(name, `other.${name}`), cname(`other.${name}`, name)])
    if (records === 'servfail' || records === 'refused') return respond(RCODES[records])
    if (records === 'truncated')
      return overTcp ? respond(0, answersFor(name, type, { TXT: many, MX: [[10, 'mx.example']] })) : respond(TRUNCATED)
    return respond(0, answersFor(name, type, records))
  }

  const open = new Set<Socket>()
  const { udp, tcp, port } = await listen()
  udp.on('message', (message, { port, address }) => {
    const bytes = reply(message, false)
    if (bytes) udp.send(bytes, port, address)
  })
  tcp.on('connection', (socket) => {
    open.add(socket)
    socket.on('error', () => {}) // the client may hang up first
    let received = Buffer.alloc(0)
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      // A client may send several queries at once, each after its length.
      while (received.length > 1 && received.length >= 2 + received.readUInt16BE()) {
        const end = 2 + received.readUInt16BE()
        const answer = reply(received.subarray(2, end), true)
        if (answer) socket.write(Buffer.concat([Buffer.of(answer.length >> 8, answer.length & 0xff), answer]))
        received = received.subarray(end)
      }
    })
  })

  return {
    address: `127.0.0.1:${port}`,
    /** The answer to queries for this name from now on. */
    set: (name: string, what: Known) => void names.set(name, what),
    forget: (name: string) => void names.delete(name),
    queries,
    async stop() {
      for (const socket of open) socket.destroy()
      await Promise.all([new Promise<void>((done) => udp.close(() => done())), new Promise((done) => tcp.close(done))])
    },
  }
}

/** A port that is free for both TCP and UDP: a port that the system offers for one may be taken for the other. */
async function listen() {
  for (let tries = 1; ; tries++) {
    const tcp = createServer().listen(0, '127.0.0.1')
    await once(tcp, 'listening')
    const { port } = tcp.address() as AddressInfo
    const udp = createSocket('udp4')
    try {
      udp.bind(port, '127.0.0.1')
      await once(udp, 'listening')
      return { udp, tcp, port }
    } catch (err) {
      tcp.close()
      if (tries === 20) throw err
    }
  }
}

/** More records than fit into a datagram. */
const many = Array.from({ length: 300 }, (_, index) => `record ${index} ${'x'.repeat(100)}`)

const cname = (name: string, data: string): Answer => ({ type: 'CNAME', name, data, ttl: 1 })

function answersFor(name: string, type: RecordType | string, records: Records): Answer[] {
  const make = (data: unknown) => ({ type, name, ttl: 1, data }) as Answer
  if (type === 'TXT') return (records.TXT ?? []).map(make)
  if (type === 'MX') return (records.MX ?? []).map(([preference, exchange]) => make({ preference, exchange }))
  return ((records as Record<string, string[] | undefined>)[type] ?? []).map(make)
}
