import { startSmtpServer } from '../../test/support/servers/smtp-server.ts'

// The SMTP server as a separate process. Its log has every message it accepted, whatever happens to the workers.
const [port, logFile] = process.argv.slice(2)
const sink = await startSmtpServer({ port: Number(port), logFile: logFile! })
process.on('SIGUSR2', sink.reset)
process.send?.('ready')
