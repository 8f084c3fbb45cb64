import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// A receiver of webhooks that answers at once. Tells its port, then the number of requests whenever it is asked.
let taken = 0
const server = createServer((req, res) => {
  req.resume()
  req.on('end', () => {
    taken++
    res.end()
  })
}).listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
process.on('message', () => process.send!({ taken }))
