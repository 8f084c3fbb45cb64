import Fastify from 'fastify'
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { compileValidator } from '../server/src/http/core/validate.ts'
import { serverOptions } from '../server/src/http/server.ts'
import { createLog } from '../server/src/lib/process/log.ts'
import { sendBody } from '../server/src/send/acceptance/body.ts'
import { TrackBody } from '../server/src/track/routes.ts'

// The floors: the framework with our options, which parses, validates and returns the body of a real endpoint, and does nothing else.
const app = Fastify(serverOptions({ config: { trustProxy: undefined }, log: createLog('warn') })).withTypeProvider<ZodTypeProvider>()
app.setValidatorCompiler(compileValidator)
app.setSerializerCompiler(serializerCompiler)
app.get('/ready', () => ({ status: 'ok' }))
app.post('/track', { schema: { body: TrackBody } }, (req) => req.body)
app.post('/send', { schema: { body: sendBody({ maxAttachments: 10, maxAttachmentMb: 10 }) } }, (req) => req.body)
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
process.on('SIGTERM', () => process.exit(0))
