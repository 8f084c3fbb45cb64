import { Transform } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../lib/config.ts'
import { AppError, tryLater } from '../../lib/errors/errors.ts'
import { type Arrival, type ByteBudgetLimits, type ByteHold, createByteBudget, SMALL_BODY } from '../../lib/fair/byte-budget.ts'
import { networkOf } from '../../lib/network/network.ts'
import { cutOffs } from '../../lib/process/metrics.ts'
import { MB } from '../../lib/text/units.ts'
import { maxFormBytes } from '../core/form-file.ts'
import { createValueCounter } from '../core/json.ts'
import type { App } from '../core/types.ts'

declare module 'fastify' {
  interface FastifyInstance {
    holdBody: HoldBody
  }
  interface FastifyRequest {
    /** The request's part of the budget of body bytes, with the bytes that its headers announce; null for small bodies. */
    bodyHold: (ByteHold & { announced: number | 'counted' }) | null
  }
}

/** Holds the bytes of something other than a request, such as a message that arrives by SMTP, as if it were a request body of the owner. */
export type HoldBody = (owner: string, arrival: Arrival) => ByteHold

/** Larger bodies are refused while they arrive if they contain too many values: kept, they would cost memory and garbage collection. */
const LARGE = MB
/**
 * What one owner may hold of the budget. Public keys are visible in web pages: requests with them, like those of strangers, who have no key and no
 * session, must not starve a project's servers. Strangers share one part of the budget, and one network has at most half of that.
 */
const SHARES = { owner: 1 / 2, public: 1 / 8, strangers: 1 / 8, network: 1 / 2 }
const HAS_BODY = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Bounds the bytes of request bodies that this node holds at once, half of them for one owner. Bytes count from before they are read
 * until the response is sent: a parsed body stays in memory while it waits to be written. As bytes, text, parsed value and garbage a body
 * takes three to four times its size: 60 concurrent bodies of 39 MB, with the default budget of 128 MB, peaked at 555 MB.
 */
export function limitBodies(app: App, { bodyBudgetMb }: Pick<Config, 'bodyBudgetMb'>, limits: Partial<ByteBudgetLimits> = {}) {
  const budget = createByteBudget(bodyBudgetMb * MB, limits)
  const { whole } = budget
  const strangers = budget.part(SHARES.strangers)
  app.decorateRequest('bodyHold', null)
  app.decorate('holdBody', (owner, arrival) => budget.hold(owner, [{ pool: whole, share: SHARES.owner }], arrival))

  function holdFor(req: FastifyRequest, arrival: Arrival) {
    const { project, person, routeOptions, ip } = req
    const owner = project?.owner ?? person?.userId
    if (!owner) {
      const shares = [
        { pool: whole, share: SHARES.strangers },
        { pool: strangers, share: SHARES.network },
      ]
      return budget.hold(`network ${networkOf(ip)}`, shares, arrival)
    }
    if (routeOptions.config.caller !== 'public-key') return app.holdBody(owner, arrival)
    return budget.hold(`${owner} by public key`, [{ pool: whole, share: SHARES.public }], arrival)
  }

  function release(req: FastifyRequest) {
    req.bodyHold?.release()
    req.bodyHold = null
  }

  /** Counts what a body contains while it arrives, and its bytes if it came without a length. */
  function counted(req: FastifyRequest, reply: FastifyReply, { announced, grow }: NonNullable<FastifyRequest['bodyHold']>) {
    const countValues = createValueCounter()
    let arrived = 0
    const counter = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        arrived += chunk.length
        const pass = (fits: boolean) => {
          try {
            if (!fits) throw tooMuch()
            countValues(chunk)
            done(null, chunk)
          } catch (err) {
            done(err as Error)
          }
        }
        const fits = announced === 'counted' ? grow(arrived) : true
        if (typeof fits === 'boolean') pass(fits)
        else void fits.then(pass)
      },
    })
    // After a refusal there is no other listener, and an unhandled error event would end the process.
    counter.on('error', () => {})
    req.raw.once('error', (err) => counter.destroy(err))
    // The rest of the body must be drained, or the connection cannot be reused.
    reply.raw.once('finish', () => req.raw.unpipe(counter).resume())
    return req.raw.pipe(counter)
  }

  app.addHook('onRequest', (req, reply, done) => {
    const announced = announcedBytes(req)
    if (announced === undefined) return done()
    const held = holdFor(req, arrivalOf(req, reply))
    req.bodyHold = { ...held, announced }
    // Only for a client that disconnects while it sends: a complete request is still processed, and held until that ends.
    reply.raw.once('close', () => req.raw.complete || release(req))
    const begin = (fits: boolean) => done(fits ? undefined : tooMuch())
    const fits = announced === 'counted' ? true : held.grow(announced)
    if (typeof fits === 'boolean') begin(fits)
    else void fits.then(begin)
  })
  app.addHook('preParsing', (req, reply, payload, done) => {
    const held = req.bodyHold
    const isCounted = held && !req.routeOptions.config.formFile && (held.announced === 'counted' || held.announced > LARGE)
    done(null, isCounted ? counted(req, reply, held) : payload)
  })
  app.addHook('onSend', (req, _reply, payload, done) => {
    if (req.bodyHold) release(req)
    done(null, payload)
  })
}

const tooMuch = () => tryLater('Too many large request bodies at once. Try again shortly.')

/** The bytes of the connection: bodies with a length are read by their parser, not by a stream of ours. */
function arrivalOf({ raw }: FastifyRequest, reply: FastifyReply): Arrival {
  return {
    bytes: () => raw.socket?.bytesRead ?? 0,
    isReading: () => !raw.complete && raw.readableFlowing === true,
    cutOff() {
      cutOffs.inc({ what: 'body' })
      reply.header('connection', 'close')
      // Its reader takes this for the end of the body, and answers with the error.
      raw.emit('error', new AppError('REQUEST_TIMEOUT', { message: 'The body arrived too slowly while others waited to send theirs.' }))
    },
  }
}

/** `counted`: without a length, counted while it arrives. Undefined: small, or too large to be read at all. */
function announcedBytes({ headers, method, routeOptions }: FastifyRequest): number | 'counted' | undefined {
  const isChunked = headers['transfer-encoding'] !== undefined
  const length = Number(headers['content-length'] ?? 0)
  if ((!isChunked && !(length > SMALL_BODY)) || !HAS_BODY.has(method)) return undefined
  const form = routeOptions.config.formFile
  const limit = form ? maxFormBytes(form) : routeOptions.bodyLimit
  // The form parser reads the socket directly, so its bytes cannot be counted on the way.
  if (isChunked) return form ? limit : 'counted'
  return length <= limit ? length : undefined
}
