import { randomBytes } from 'node:crypto'
import { SECOND } from '../text/units.ts'
import type { Log } from './log.ts'
import { createRareWarning } from './rare-warning.ts'

/** Where spans go: a collector that speaks OTLP over HTTP. `ratio`: the share of traces that is recorded. */
export type TracingConfig = { endpoint: string; headers: Record<string, string>; ratio: number }

export type SpanContext = { traceId: string; spanId: string }
type Attributes = Record<string, string | number | boolean | null | undefined>
type NewSpan = SpanContext & {
  name: string
  kind: keyof typeof KINDS
  parentSpanId?: string | undefined
  links?: SpanContext[]
  attributes: Attributes
  /** By the wall clock, in milliseconds. */
  startedAt: number
  isError?: boolean
}

/** The numbers of OTLP. */
const KINDS = { internal: 1, server: 2, client: 3 }
const ERROR = 2
const FLUSH_MS = 5 * SECOND
const EXPORT_MS = 10 * SECOND
const FULL = 512
/** Spans beyond this are dropped: a collector that is away must not use up the memory. */
const MAX_WAITING = 4_096

let record: ((span: NewSpan, endedAt: number) => void) | undefined
let ratio = 1

export const isTracing = () => record !== undefined
export const newSpanId = () => randomBytes(8).toString('hex')
export const newTraceId = () => randomBytes(16).toString('hex')

/** The same decision in every process, since it depends on the id alone. Ids of emails are random at their end. */
const isSampled = (traceId: string) => Number.parseInt(traceId.slice(-8), 16) < ratio * 2 ** 32

export function recordSpan(span: NewSpan) {
  if (record && isSampled(span.traceId)) record(span, Date.now())
}

/** Trace and first span of an email. Both are made from its id, so the id finds the trace and nothing is stored for it. */
const traceOfEmail = (emailId: string): SpanContext => {
  const digits = emailId.replaceAll('-', '')
  return { traceId: digits, spanId: digits.slice(16) }
}

/** A step of an email after it was accepted; the id may also be that of something else that happened. */
export function recordEmailStep(emailId: string, span: Pick<NewSpan, 'name' | 'kind' | 'attributes' | 'startedAt' | 'isError'>) {
  if (!record) return
  const { traceId, spanId: parentSpanId } = traceOfEmail(emailId)
  recordSpan({ ...span, traceId, parentSpanId, spanId: newSpanId() })
}

/** The first span of each email that a request has queued, linked to the span of the request. */
export function recordAccepted(emailIds: string[], { request, attributes, startedAt }: Accepted) {
  if (!record) return
  for (const id of emailIds)
    recordSpan({ ...traceOfEmail(id), name: 'email accepted', kind: 'internal', links: request ? [request] : [], attributes, startedAt })
}
type Accepted = { request: SpanContext | undefined; attributes: Attributes; startedAt: number }

/** The span that the header `traceparent` (W3C Trace Context) names. */
export function readTraceParent(header: unknown): SpanContext | undefined {
  const [, traceId, spanId] = (typeof header === 'string' && /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(header)) || []
  return traceId && spanId && !/^0+$/.test(traceId) ? { traceId, spanId } : undefined
}

/** Sends spans to the collector in batches, until it is stopped. Whether the collector answers concerns nothing else. */
export function startTracing(config: TracingConfig, { service, log }: { service: Attributes; log: Log }) {
  const warn = createRareWarning(log)
  let waiting: object[] = []
  let sending: Promise<void> = Promise.resolve()

  function add(span: NewSpan, endedAt: number) {
    if (waiting.length >= MAX_WAITING) return warn({}, 'spans were dropped: the collector does not keep up')
    waiting.push(toOtlp(span, endedAt))
    if (waiting.length === FULL) void flush()
  }

  function flush() {
    const spans = waiting
    waiting = []
    if (spans.length) sending = sending.then(() => send(spans))
    return sending
  }

  async function send(spans: object[]) {
    try {
      const answer = await fetch(`${config.endpoint}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...config.headers },
        body: JSON.stringify({
          resourceSpans: [{ resource: { attributes: attributesOf(service) }, scopeSpans: [{ scope: { name: 'sterna' }, spans }] }],
        }),
        signal: AbortSignal.timeout(EXPORT_MS),
      })
      await answer.arrayBuffer()
      if (!answer.ok) warn({ status: answer.status }, 'the collector refused spans')
    } catch (err) {
      warn({ reason: (err as Error).message }, 'spans could not be sent to the collector')
    }
  }

  const timer = setInterval(flush, FLUSH_MS).unref()
  record = add
  ratio = config.ratio
  return async () => {
    clearInterval(timer)
    record = undefined
    await flush()
  }
}

const nanoseconds = (ms: number) => `${BigInt(Math.round(ms * 1_000)) * 1_000n}`

const toOtlp = ({ traceId, spanId, parentSpanId, name, kind, links = [], attributes, startedAt, isError }: NewSpan, endedAt: number) => ({
  traceId,
  spanId,
  parentSpanId,
  name,
  kind: KINDS[kind],
  startTimeUnixNano: nanoseconds(startedAt),
  endTimeUnixNano: nanoseconds(Math.max(startedAt, endedAt)),
  attributes: attributesOf(attributes),
  links,
  status: isError ? { code: ERROR } : {},
})

const attributesOf = (attributes: Attributes) =>
  Object.entries(attributes).flatMap(([key, value]) => (value === null || value === undefined ? [] : [{ key, value: otlpValue(value) }]))

function otlpValue(value: string | number | boolean) {
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: `${value}` } : { doubleValue: value }
  return { stringValue: value.slice(0, 1_000) }
}
