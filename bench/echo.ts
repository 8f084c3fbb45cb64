import Fastify from 'fastify'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { EchoBody } from './paths/plumbing.ts'

// The floor: the framework with a validated body and nothing of ours.
const app = Fastify({ logger: false }).withTypeProvider<ZodTypeProvider>()
app.setValidatorCompiler(validatorCompiler)
app.setSerializerCompiler(serializerCompiler)
app.get('/health', () => ({ status: 'ok' }))
app.post('/echo', { schema: { body: EchoBody } }, (req) => req.body)
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
process.on('SIGTERM', () => process.exit(0))
