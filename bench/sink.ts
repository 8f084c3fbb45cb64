import { type AddressInfo, createServer, type Socket } from 'node:net'

// A receiver that is as cheap as possible: accepts every message unread, and reports on request how many, and when an awaited one arrived.
const END = Buffer.from('\r\n.\r\n')
let taken = 0
let awaited = ''
/** Milliseconds until a message is answered, the share of recipients that are refused for now, and whether PIPELINING is offered, as by most relays. */
let behaviour = { answerMs: 0, refusedShare: 0, pipelining: false }
let recipients = 0

const server = createServer((socket) => {
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.write('220 sink\r\n')
  let inMessage = false
  let isAwaited = false
  let text = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    text = text.length ? Buffer.concat([text, chunk]) : chunk
    for (;;) {
      const end = text.indexOf(inMessage ? END : '\r\n')
      if (end < 0) {
        // The terminator may have begun.
        if (inMessage) text = text.subarray(-END.length)
        return
      }
      const line = inMessage ? '' : text.toString('latin1', 0, end)
      text = text.subarray(end + (inMessage ? END.length : 2))
      if (inMessage && isAwaited) process.send?.({ at: performance.timeOrigin + performance.now() })
      isAwaited = inMessage ? false : isAwaited || (awaited !== '' && line.includes(awaited) && /^rcpt/i.test(line))
      inMessage = inMessage ? ended(socket) : replyTo(socket, line)
    }
  })
})

function ended(socket: Socket) {
  const answer = () => {
    taken++
    socket.write('250 2.0.0 Ok\r\n')
  }
  if (behaviour.answerMs > 0) setTimeout(answer, behaviour.answerMs)
  else answer()
  return false
}

/** Evenly spread, so that two runs refuse the same number. */
const isRefused = () => Math.floor(++recipients * behaviour.refusedShare) > Math.floor((recipients - 1) * behaviour.refusedShare)

function replyTo(socket: Socket, line: string) {
  const isData = /^data$/i.test(line)
  if (/^quit$/i.test(line)) socket.end('221 Bye\r\n')
  else if (behaviour.pipelining && /^ehlo/i.test(line)) socket.write('250-sink\r\n250 PIPELINING\r\n')
  else if (behaviour.refusedShare > 0 && /^rcpt/i.test(line) && isRefused()) socket.write('450 4.2.0 Try again later\r\n')
  else socket.write(isData ? '354 Go on\r\n' : '250 Ok\r\n')
  return isData
}

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('message', (message: { await?: string; behave?: Partial<typeof behaviour> }) => {
  if (message.await) awaited = message.await
  else if (message.behave) behaviour = { ...behaviour, ...message.behave }
  else process.send?.({ taken })
})
