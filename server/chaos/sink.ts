import { startSmtpServer } from '../test/support/smtp-server.ts'

// The other side, as a process of its own: what it has taken is in its log, whatever happens to those who sent it.
const [port, logFile] = process.argv.slice(2)
const sink = await startSmtpServer({ port: Number(port), logFile: logFile! })
process.on('SIGUSR2', sink.reset)
process.send?.('ready')
