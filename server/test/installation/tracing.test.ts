import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLog } from '../../src/lib/process/log.ts'
import { startTracing } from '../../src/lib/process/tracing.ts'
import { traceRequests } from '../../src/monitoring/trace-requests.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { documentedLogFields } from '../support/log-fields.ts'

type Attribute = { key: string; value: Record<string, unknown> }
type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  attributes: Attribute[]
  links: { traceId: string; spanId: string }[]
  startTimeUnixNano: string
  endTimeUnixNano: string
}

const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
const spans: Span[] = []
const headersSeen: unknown[] = []
let stopTracing = async () => {}

/** As a collector does, it takes batches of spans in the JSON form of OTLP. */
const collector = createServer(async (req, res) => {
  let text = ''
  for await (const chunk of req) text += chunk
  headersSeen.push([req.url, req.headers.authorization])
  for (const { scopeSpans } of JSON.parse(text).resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans)
  res.end('{}')
})

/** A receiver of webhooks. */
const receiver = createServer((_req, res) => res.end())

/** Lines of the log. */
const lines: string[] = []

const sterna = useApp({
  log: createLog('debug', { write: (line) => void lines.push(line) }),
  env: { WEBHOOK_ALLOW_PRIVATE: '127.0.0.0/8' },
  extend: (app) => traceRequests(app),
})

beforeAll(async () => {
  for (const server of [collector, receiver]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
  const config = { endpoint, headers: { authorization: 'Bearer of the collector' }, ratio: 1 }
  stopTracing = startTracing(config, { service: { 'service.name': 'sterna' }, log: createLog('silent') })
})
afterAll(async () => {
  await stopTracing()
  for (const server of [collector, receiver]) server.close()
})

test('a request, the emails it queued and their way to the provider are found by the id of the email', async () => {
  const { sk } = await sterna.newProject()
  await sterna.call('POST', '/domains', { key: sk, body: { domain: 'shop.example' } })
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  const endpoint = await sterna.call('POST', '/webhook-endpoints', { key: sk, body: { url, events: ['email.sent'] } })
  const { body } = await sterna.call('POST', '/v1/send', {
    key: sk,
    body: { to: 'ann@shop.example', from: 'shop@shop.example', subject: 'Hello', body: '<p>Hello</p>' },
    headers: { traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01` },
  })
  const id: string = body.data.emails[0].email
  await eventually(async () => {
    const { body } = await sterna.call('GET', `/webhook-endpoints/${endpoint.body.id}/deliveries`, { key: sk })
    expect(body.data.map(({ status }: { status: string }) => status)).toEqual(['delivered'])
  })
  await stopTracing()

  const request = spans.find(({ name, traceId }) => name === 'POST /v1/send' && traceId === CALLER.traceId)!
  expect(request.parentSpanId).toBe(CALLER.spanId)
  const ofEmail = spans.filter(({ traceId }) => traceId === id.replaceAll('-', ''))
  expect(ofEmail.map(({ name }) => name)).toEqual(['email accepted', 'email attempt', 'webhook delivery'])
  const [accepted, attempt, delivery] = ofEmail as [Span, Span, Span]
  expect(accepted.links).toEqual([{ traceId: CALLER.traceId, spanId: request.spanId }])
  expect(attempt.parentSpanId).toBe(accepted.spanId)
  expect(attempt.attributes).toContainEqual({ key: 'sterna.outcome', value: { stringValue: 'sent' } })
  expect(delivery.attributes).toContainEqual({ key: 'http.response.status_code', value: { intValue: '200' } })
  expect(BigInt(attempt.endTimeUnixNano) >= BigInt(attempt.startTimeUnixNano)).toBe(true)
  expect(headersSeen[0]).toEqual(['/v1/traces', 'Bearer of the collector'])
  expect(JSON.stringify(spans)).not.toContain('ann@shop.example')
})

test('lines of the log about requests, emails and background work have the documented fields', async () => {
  const { id: projectId, sk } = await sterna.newProject()
  await sterna.call('POST', '/domains', { key: sk, body: { domain: 'log.example' } })
  const requestId = 'request-of-this-test'
  const { body } = await sterna.call('POST', '/v1/send', {
    key: sk,
    body: { to: 'ann@log.example', from: 'shop@log.example', subject: 'Hello', body: '<p>Hello</p>' },
    headers: { 'x-request-id': requestId },
  })
  const emailId = body.data.emails[0].email as string
  const find = (msg: string, about: object) =>
    eventually(async () => {
      const found = lines
        .map((line) => JSON.parse(line))
        .find((line) => line.msg === msg && Object.entries(about).every(([name, value]) => line[name] === value))
      expect(found).toBeDefined()
      return found
    })
  const every = { level: expect.any(String), time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/), name: 'sterna' }
  expect(await find('responded', { requestId })).toEqual({
    ...every,
    requestId,
    method: 'POST',
    route: '/v1/send',
    status: 200,
    ms: expect.any(Number),
    msg: 'responded',
  })
  const attempt = { emailId, projectId, attempt: 1, outcome: 'sent', reason: null }
  expect(await find('attempted an email', { emailId })).toEqual({ ...every, ...attempt, msg: 'attempted an email' })
  expect(await find('domain added', { projectId })).toMatchObject({ ...every, domain: 'log.example' })
  // Those of libraries are at debug: the job queue, and Fastify.
  const ours = lines
    .map((line) => JSON.parse(line))
    .filter(({ level, msg }) => level !== 'debug' || msg === 'responded' || msg === 'attempted an email')
  const documented = documentedLogFields()
  expect([...new Set(ours.flatMap((line) => Object.keys(line)))].filter((field) => !documented.has(field))).toEqual([])
})
