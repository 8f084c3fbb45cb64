import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// A receiver of webhooks that answers at once. It sends its port to the parent process, and the number of requests on each message from it.
let taken = 0
const server = createServer((req, res) => {
  req.resume()
  req.on('end', () => {
    taken++
    res.end()
  })
}).listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
process.on('message', () => process.send!({ taken }))
