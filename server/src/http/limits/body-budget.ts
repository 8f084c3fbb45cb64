import { Transform } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createCounts } from '../../lib/concurrency/counts.ts'
import type { Config } from '../../lib/config.ts'
import { tryLater } from '../../lib/errors.ts'
import { KB, MB } from '../../lib/text/units.ts'
import { maxFormBytes } from '../form-file.ts'
import { createValueCounter } from '../json.ts'
import type { App } from '../server.ts'

declare module 'fastify' {
  interface FastifyInstance {
    holdBody: HoldBody
  }
  interface FastifyRequest {
    /** The request's part of the budget of body bytes; null for small bodies. */
    bodyHold: Hold | null
  }
}

/** Holds the bytes of something else than a request, such as a message that arrives by SMTP, as if it were the body of one of the project. */
export type HoldBody = (projectId: string) => {
  /** False when the bytes, `total` so far, do not fit. */
  grow(total: number): boolean
  /** May be called more than once. */
  release(): void
}

type Hold = { owner: string; share: number; bytes: number }

/** Bodies up to this size are not counted: a connection costs as much memory, and the budget must not refuse a sign-in. */
const SMALL = 16 * KB
/** Larger bodies are refused while they arrive if they contain too many values: kept, they would cost memory and garbage collection. */
const LARGE = MB
/** Callers without a project or session share one bucket. */
const ANONYMOUS = 'anonymous'
/** Shares of the budget. Public keys are visible in web pages: requests with them, like anonymous ones, must not starve a project's servers. */
const SHARES = { project: 1 / 2, public: 1 / 8 }
const HAS_BODY = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Bounds the bytes of request bodies that this node holds at once, half of them for one project. Bytes count from before they are read
 * until the response is sent: a parsed body stays in memory while it waits to be written. As bytes, text, parsed value and garbage a body
 * takes three to four times its size: 60 concurrent bodies of 39 MB, with the default budget of 128 MB, peaked at 555 MB.
 */
export function limitBodies(app: App, { bodyBudgetMb }: Config) {
  const budget = createBudget(bodyBudgetMb * MB)
  app.decorateRequest('bodyHold', null)
  app.decorate('holdBody', (projectId) => {
    const held: Hold = { owner: projectId, share: SHARES.project, bytes: 0 }
    return {
      grow(total) {
        if (total <= SMALL) return true
        const bytes = total - held.bytes
        if (!budget.take(held, bytes)) return false
        held.bytes = total
        return true
      },
      release() {
        budget.give(held.owner, held.bytes)
        held.bytes = 0
      },
    }
  })

  function hold(req: FastifyRequest, reply: FastifyReply) {
    const held = { ...ownerOf(req), bytes: 0 }
    req.bodyHold = held
    // Only for a client that disconnects while it sends: a complete request is still processed, and held until that ends.
    reply.raw.once('close', () => req.raw.complete || release(req))
    return held
  }

  function grow(held: Hold, bytes: number) {
    if (!budget.take(held, bytes)) throw tryLater('Too many large request bodies at once. Try again shortly.')
    held.bytes += bytes
  }

  function release(req: FastifyRequest) {
    if (req.bodyHold) budget.give(req.bodyHold.owner, req.bodyHold.bytes)
    req.bodyHold = null
  }

  /** Counts what a body contains while it arrives, and its bytes if it came without a length. */
  function counted(req: FastifyRequest, reply: FastifyReply, held: Hold) {
    const countValues = createValueCounter()
    const hasLength = held.bytes > 0
    let arrived = 0
    const counter = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        arrived += chunk.length
        try {
          if (!hasLength && arrived > SMALL) grow(held, arrived - held.bytes)
          countValues(chunk)
          done(null, chunk)
        } catch (err) {
          done(err as Error)
        }
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
    const bytes = announcedBytes(req)
    if (bytes === undefined) return done()
    const held = hold(req, reply)
    try {
      if (bytes !== 'counted') grow(held, bytes)
      done()
    } catch (err) {
      done(err as Error)
    }
  })
  app.addHook('preParsing', (req, reply, payload, done) => {
    const held = req.bodyHold
    const isCounted = held && !req.routeOptions.config.formFile && (!held.bytes || held.bytes > LARGE)
    done(null, isCounted ? counted(req, reply, held) : payload)
  })
  app.addHook('onSend', (req, _reply, payload, done) => {
    if (req.bodyHold) release(req)
    done(null, payload)
  })
}

/** `counted`: without a length, counted while it arrives. Undefined: small, or too large to be read at all. */
function announcedBytes({ headers, method, routeOptions }: FastifyRequest): number | 'counted' | undefined {
  const isChunked = headers['transfer-encoding'] !== undefined
  const length = Number(headers['content-length'] ?? 0)
  if ((!isChunked && !(length > SMALL)) || !HAS_BODY.has(method)) return undefined
  const form = routeOptions.config.formFile
  const limit = form ? maxFormBytes(form) : routeOptions.bodyLimit
  // The form parser reads the socket directly, so its bytes cannot be counted on the way.
  if (isChunked) return form ? limit : 'counted'
  return length <= limit ? length : undefined
}

function ownerOf({ project, person, routeOptions }: FastifyRequest): Pick<Hold, 'owner' | 'share'> {
  const owner = project?.id ?? person?.userId
  if (!owner) return { owner: ANONYMOUS, share: SHARES.public }
  if (routeOptions.config.caller === 'public-key') return { owner: `${owner} by its public key`, share: SHARES.public }
  return { owner, share: SHARES.project }
}

/** A single body is always admitted: its size is bounded by its route. */
function createBudget(total: number) {
  let held = 0
  const byOwner = createCounts()
  return {
    /** False when it does not fit; then nothing is taken. */
    take({ owner, share }: Hold, bytes: number) {
      const mine = byOwner.of(owner)
      if ((held && held + bytes > total) || (mine && mine + bytes > total * share)) return false
      held += bytes
      byOwner.change(owner, bytes)
      return true
    },
    give(owner: string, bytes: number) {
      held -= bytes
      byOwner.change(owner, -bytes)
    },
  }
}
