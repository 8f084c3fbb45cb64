import { type AddressInfo, createServer, type Socket } from 'node:net'

// The other side, as cheap as can be: takes every mail, looks into none, says how many when asked, and when the one asked for came.
const END = Buffer.from('\r\n.\r\n')
let taken = 0
let awaited = ''

const server = createServer((socket) => {
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.write('220 sink\r\n')
  let inMail = false
  let isAwaited = false
  let text = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    text = text.length ? Buffer.concat([text, chunk]) : chunk
    for (;;) {
      const end = text.indexOf(inMail ? END : '\r\n')
      if (end < 0) {
        // The end may have begun.
        if (inMail) text = text.subarray(-END.length)
        return
      }
      const line = inMail ? '' : text.toString('latin1', 0, end)
      text = text.subarray(end + (inMail ? END.length : 2))
      if (inMail && isAwaited) process.send?.({ at: performance.timeOrigin + performance.now() })
      isAwaited = inMail ? false : isAwaited || (awaited !== '' && line.includes(awaited) && /^rcpt/i.test(line))
      inMail = inMail ? ended(socket) : obey(socket, line)
    }
  })
})

function ended(socket: Socket) {
  taken++
  socket.write('250 2.0.0 Ok\r\n')
  return false
}

function obey(socket: Socket, line: string) {
  const isData = /^data$/i.test(line)
  if (/^quit$/i.test(line)) socket.end('221 Bye\r\n')
  else socket.write(isData ? '354 Go on\r\n' : '250 Ok\r\n')
  return isData
}

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('message', (message: { await?: string }) => {
  if (message.await) awaited = message.await
  else process.send?.({ taken })
})
