import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { FOLDED_LEDGERS } from '../../src/ledgers.ts'
import { serveMetrics } from '../../src/monitoring/serve-metrics.ts'
import { useApp } from '../support/app.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const METRICS_TOKEN = 'a token of tests'
const headers = { authorization: `Bearer ${METRICS_TOKEN}` }

const sterna = useApp({
  env: { METRICS_TOKEN },
  withWorker: false,
  extend: (app, deps) => void serveMetrics(app, deps, FOLDED_LEDGERS),
})

const readMetrics = async () => (await sterna.app.inject({ url: '/metrics', headers })).body
const sampleOf = (text: string, sample: string) =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${sample} `))
      ?.slice(sample.length),
  )

describe('metrics', () => {
  test('need the token', async () => {
    for (const wrong of [{}, { authorization: 'Bearer another token' }, { authorization: METRICS_TOKEN }]) {
      const { statusCode, body } = await sterna.app.inject({ url: '/metrics', headers: wrong as Record<string, string> })
      expect(statusCode).toBe(401)
      expect(body).not.toContain('sterna_')
    }
  })

  test('tell what waits, how requests are answered, and nothing of customers', async () => {
    const project = await sterna.newProject()
    const to = ['ann@shop.example', 'bob@shop.example', 'cid@shop.example']
    await sterna.call('POST', '/domains', { key: project.sk, body: { domain: 'shop.example' } })
    await sql`update domains set status = 'verified', verified_by = 'dns', verified_at = now(), next_check_at = 'infinity'`.execute(
      sterna.db,
    )
    const body = { to, subject: 'Hello', body: '<p>Hello</p>', from: 'shop@shop.example' }
    expect((await sterna.call('POST', '/v1/send', { key: project.sk, body })).status).toBe(200)
    await sql`update emails set created_at = now() - interval '90 seconds' where to_address = 'ann@shop.example'`.execute(sterna.db)
    await sql`update emails set state = 'unknown', unknown_since = now() where to_address = 'cid@shop.example'`.execute(sterna.db)

    const text = await readMetrics()
    expect(sampleOf(text, 'sterna_database_up')).toBe(1)
    expect(sampleOf(text, 'sterna_queue_emails{priority="transactional"}')).toBe(2)
    expect(sampleOf(text, 'sterna_queue_emails{priority="bulk"}')).toBe(0)
    expect(sampleOf(text, 'sterna_queue_oldest_seconds{priority="transactional"}')).toBeGreaterThanOrEqual(90)
    expect(sampleOf(text, 'sterna_queue_oldest_seconds{priority="bulk"}')).toBe(0)
    expect(sampleOf(text, 'sterna_emails_unknown')).toBe(1)
    expect(sampleOf(text, 'sterna_fold_waiting{ledger="contacts"}')).toBeGreaterThan(0)
    expect(sampleOf(text, 'sterna_http_request_seconds_count{method="POST",route="/v1/send",status="2xx"}')).toBe(1)
    expect(sampleOf(text, 'sterna_batch_size_count{batch="POST /v1/send"}')).toBeGreaterThan(0)
    expect(text).not.toMatch(new RegExp(`shop\\.example|${project.id}`))
  })
})

/** Names in dashboards, alert rules and the documentation, as those of samples: a histogram has several. */
test('every metric that alerts, dashboards and docs use exists, and the docs have all of them', async () => {
  const existing = new Set([...(await readMetrics()).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!))
  const folder = join(ROOT, 'deploy/monitoring')
  const docs = readFileSync(join(ROOT, 'docs/monitoring.md'), 'utf8')
  const texts = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
  const used = [...texts, docs].flatMap((text) => text.match(/\b(?:sterna|nodejs|process)_[a-z_]+[a-z]\b/g) ?? [])
  expect(used.length).toBeGreaterThan(40)
  const isThere = (name: string) => existing.has(name) || existing.has(name.replace(/_(bucket|sum|count)$/, ''))
  expect(used.filter((name) => !isThere(name))).toEqual([])
  expect([...existing].filter((name) => name.startsWith('sterna_') && !docs.includes(name))).toEqual([])
})
