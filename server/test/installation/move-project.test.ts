import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { run } from '../../src/cli.ts'
import { many } from '../../src/db/index.ts'
import { recountProject } from '../../src/ledger/checks.ts'
import { LEDGERS } from '../../src/ledgers.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { exportProject } from '../../src/moving/export-project.ts'
import { importProject } from '../../src/moving/import-project.ts'
import { movedTables, PROJECT_TABLES } from '../../src/moving/project-tables.ts'
import { useApp } from '../support/app.ts'
import { eventually, until } from '../support/eventually.ts'
import { fillProject, SUPPRESSED, toFill, UNSUBSCRIBED } from '../support/filled-project.ts'
import { newSendingProject, projectClient } from '../support/project.ts'
import { SECRET_KEY } from '../support/secret-key.ts'

const folder = mkdtempSync(join(tmpdir(), 'sterna-move-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const OTHER_KEY = 'another secret key for tests only: 32+ characters'
const env = (name: string) => ({
  RATE_LIMIT_PER_MINUTE: '0',
  WEBHOOK_ALLOW_PRIVATE: '127.0.0.2/32',
  DATA_DIR: join(folder, name),
  PUBLIC_URL: `https://${name}.example`,
})
const QUICKLY = { campaigns: { startMs: 50, countMs: 100 } }
const source = useApp({ env: env('old'), intervals: QUICKLY })
const target = useApp({ env: { ...env('new'), SECRET_KEY: OTHER_KEY }, intervals: QUICKLY })

/** Few rows at a time: every table has several pages. */
const pageRows = 2
const write = (projectId: string, name: string, withSecrets = false) =>
  exportProject(source, { projectId, file: join(folder, name), withSecrets, pageRows })
const read = async (name: string, owner?: string) => {
  const imported = await importProject({ ...target, log: createLog('silent') }, { file: join(folder, name), owner, pageRows })
  await recountProject(target.db, LEDGERS, imported.header.project.id)
  return imported
}
const moved = (id: string, { public: pk, secret: sk }: { public: string; secret: string }) => projectClient(target, { id, pk, sk })

type Project = Awaited<ReturnType<typeof newSendingProject>>
type Filled = Awaited<ReturnType<typeof fillProject>>
let project: Project
let filled: Filled
let ownerHere: Awaited<ReturnType<typeof target.newPerson>>
let there: ReturnType<typeof moved>
beforeAll(async () => {
  project = await newSendingProject(source)
  filled = await fillProject(toFill(project))
  ownerHere = await target.newPerson({ email: project.owner.email })
})

describe('every table of a project', () => {
  test('is moved, or left out for a reason', async () => {
    const tables = await many<{ name: string }>(source.db)`
      select c.relname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and a.attname = 'project_id' and a.attnum > 0
      order by 1
    `
    expect(Object.keys(PROJECT_TABLES).sort()).toEqual(tables.map(({ name }) => name))
  })

  test('has bytes in the file only if they are no secret, or known to be sealed', async () => {
    const bytes = await many<{ column: string }>(source.db)`
      select table_name || '.' || column_name as column from information_schema.columns
      where table_schema = 'public' and data_type = 'bytea' and table_name = any(${movedTables(true).map(([name]) => name)}::text[]) order by 1
    `
    const sealed = movedTables(true).flatMap(([name, { sealed = [] }]) =>
      sealed.flatMap(({ column, hash }) => (hash ? [`${name}.${column}`, `${name}.${hash}`] : [`${name}.${column}`])),
    )
    const plain = ['contents.fingerprint', 'contents.raw', 'idempotency_keys.body_hash']
    expect(bytes.map(({ column }) => column)).toEqual([...sealed, ...plain].sort())
  })
})

describe('a project that is moved', () => {
  test('is the same there, and nothing of it sends by itself', async () => {
    const { rows } = await write(project.id, 'shop.gz')
    expect(statSync(join(folder, 'shop.gz')).mode & 0o777).toBe(0o600)
    expect(rows).toMatchObject({ contacts: 9, templates: 1, template_versions: 1, uploads: 1, campaigns: 3, domains: 1, consents: 1 })
    const text = gunzipSync(readFileSync(join(folder, 'shop.gz'))).toString()
    for (const secret of [project.sk, project.pk, filled.key.key, filled.endpoint.secret]) expect(text).not.toContain(secret)

    const { keys, owner } = await read('shop.gz')
    expect(owner).toBe(ownerHere.email)
    there = moved(project.id, keys)
    expect(keys.secret).not.toBe(project.sk)
    const { body: settings } = await ownerHere.call('GET', '/users/@me/projects')
    expect(settings).toMatchObject([{ id: project.id, timezone: 'Europe/Berlin', language: 'de', disabled: false }])

    const both = async (path: string) => [(await there.call('GET', path)).body, (await project.call('GET', path)).body]
    for (const path of [
      '/contacts?limit=100',
      `/contacts/${filled.unsubscribed.id}/consent`,
      '/suppressions',
      '/events/names',
      `/templates/${filled.template.id}/versions`,
      `/workflows/${filled.workflow.id}/versions`,
      `/emails/${filled.emailId}`,
      `/segments/${filled.fixed.id}`,
    ]) {
      const [here, before] = await both(path)
      expect(here, path).toEqual(before)
    }
    const figuresOf = ({ status, totalRecipients, sentCount, openedCount }: Record<string, unknown>) => ({
      status,
      totalRecipients,
      sentCount,
      openedCount,
    })
    const [campaign, campaignBefore] = await both(`/campaigns/${filled.sent.id}`)
    expect(figuresOf(campaign)).toEqual(figuresOf(campaignBefore))
    expect(figuresOf(campaign)).toMatchObject({ status: 'SENT', totalRecipients: 7, sentCount: 7 })
    const [members, membersBefore] = await both(`/segments/${filled.tracked.id}/contacts?limit=100`)
    expect(members.data).toEqual(membersBefore.data)
    expect(members.data).toHaveLength(3)

    const image = await target.app.inject({ method: 'GET', url: `/uploads/${filled.image.key}` })
    const imageBefore = await source.app.inject({ method: 'GET', url: `/uploads/${filled.image.key}` })
    expect([image.statusCode, image.rawPayload.equals(imageBefore.rawPayload)]).toEqual([200, true])
    const { body: template } = await there.call('GET', `/templates/${filled.template.id}`)
    expect(template.body).toContain(`https://new.example/uploads/${filled.image.key}`)
    expect(template.body).not.toContain('https://old.example')
  })

  test('has ended what was under way: it goes on where it was', async () => {
    expect((await there.call('GET', `/emails/${filled.waitingId}`)).status).toBe(404)
    expect((await there.call('GET', `/campaigns/${filled.scheduled.id}`)).body).toMatchObject({ status: 'DRAFT', scheduledFor: null })
    expect((await there.call('GET', `/campaigns/${filled.sending.id}`)).body).toMatchObject({
      status: 'CANCELLED',
      totalRecipients: 1,
      sentCount: 1,
    })
    expect((await there.call('GET', `/workflows/${filled.workflow.id}`)).body.enabled).toBe(false)
    const execution = `/workflows/${filled.workflow.id}/executions/${filled.execution.id}`
    expect((await there.call('GET', execution)).body).toMatchObject({ status: 'CANCELLED', exitReason: 'moved to another installation' })
    expect((await project.call('GET', execution)).body.status).toBe('WAITING')
    expect((await there.call('GET', '/webhook-endpoints')).body).toMatchObject([{ id: filled.endpoint.id, enabled: false }])
    const open = await many(target.db)`
      select 1 from emails where state in ('queued', 'deferred', 'sending', 'unknown')
      union all select 1 from campaigns where status in ('SENDING', 'SCHEDULED')
      union all select 1 from workflow_executions where due_at is not null or status in ('RUNNING', 'WAITING')
    `
    expect(open).toEqual([])
  })

  test('sends on, to nobody who has unsubscribed or is suppressed', async () => {
    const { body: refused } = await there.call('POST', '/v1/send', { to: UNSUBSCRIBED, template: filled.template.id })
    expect(refused.error?.code ?? refused.code).toBe('CONTACT_UNSUBSCRIBED')
    const content = { name: 'After', subject: 'After', body: '<p>After</p>', from: `news@${project.domain}`, audienceType: 'ALL' }
    const { data: after } = (await there.call('POST', '/campaigns', content)).body
    expect((await there.call('POST', `/campaigns/${after.id}/send`)).status).toBe(200)
    await eventually(async () => expect((await there.call('GET', `/campaigns/${after.id}`)).body.status).toBe('SENT'))
    const { data } = (await there.call('GET', `/campaigns/${after.id}/recipients?limit=100`)).body
    const addresses = data.map(({ email }: { email: string }) => email)
    expect(addresses).toHaveLength(7)
    expect(addresses).not.toEqual(expect.arrayContaining([UNSUBSCRIBED]))
    expect(addresses).not.toEqual(expect.arrayContaining([SUPPRESSED]))
    // A change reaches a tracked segment.
    await there.contacts.update(filled.readers[0].id, { data: { plan: 'pro' } })
    await eventually(async () =>
      expect((await there.call('GET', `/segments/${filled.tracked.id}/contacts?limit=100`)).body.data).toHaveLength(4),
    )
    const drift = await recountProject(target.db, LEDGERS, project.id)
    expect(
      Object.values(drift).every((wrong) => wrong === 0),
      JSON.stringify(drift),
    ).toBe(true)
    const { body: audit } = await ownerHere.call('GET', `/projects/${project.id}/audit`)
    expect(audit.data.at(-1)).toMatchObject({ action: 'project.import', actor: { type: 'system' } })
    const { body: auditBefore } = await project.owner.call('GET', `/projects/${project.id}/audit?action=project.export`)
    expect(auditBefore.data).toHaveLength(1)
  })

  test('is not imported twice', async () => {
    await expect(read('shop.gz')).rejects.toThrow(/has the project .* already/)
    expect((await there.call('GET', '/contacts?limit=1')).body.total).toBe(9)
  })
})

/** Everything that a row can hold and the API has a schema for: every kind of step, trigger, audience and block. */
async function fillWithEveryKind(rich: Project) {
  const made = async (method: string, path: string, body: object) => {
    const answer = await rich.call(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const from = `news@${rich.domain}`
  await made('POST', '/contacts', {
    email: 'ülrike@müller.example',
    data: { 'first name': 'Ü', nested: { a: [1, null] } },
  })
  await made('POST', '/suppressions', { domain: 'blocked.example' })
  const pro = { logic: 'AND', groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }] }
  const inner = await made('POST', '/segments', { name: 'Pro', condition: pro, description: 'Who pays' })
  const nested = {
    logic: 'OR',
    groups: [
      { filters: [{ field: `segment.${inner.id}`, operator: 'memberOfSegment' }] },
      {
        filters: [],
        conditions: {
          logic: 'AND',
          groups: [{ filters: [{ field: 'event.order', operator: 'triggeredWithin', value: 3, unit: 'days' }] }],
        },
      },
    ],
  }
  const outer = await made('POST', '/segments', { name: 'Active', condition: nested, trackMembership: true })
  const design = {
    version: 1,
    settings: { preview: 'Hello {{ name }}', lang: 'de' },
    content: [
      { type: 'heading', attrs: { level: 1 }, content: [{ type: 'text', text: 'Hello', marks: [{ type: 'bold' }] }] },
      {
        type: 'columns',
        attrs: {},
        content: [1, 2].map((n) => ({ type: 'column', content: [{ type: 'paragraph', content: [{ type: 'text', text: `${n}` }] }] })),
      },
      { type: 'button', attrs: { href: 'https://shop.example', align: 'center' }, content: [{ type: 'text', text: 'Buy' }] },
      { type: 'footer', attrs: {} },
    ],
  }
  const template = await made('POST', '/templates', {
    name: 'Design',
    subject: 'Hi {{ name }}',
    design,
    from,
    fromName: 'Ada',
    replyTo: 'ada@shop.example',
    type: 'MARKETING',
  })
  const workflow = await made('POST', '/workflows', { name: 'All kinds', eventName: 'order', description: 'Every kind of step' })
  const id = () => randomUUID()
  const [condition, multi, wait, dated, webhook, update, mail, custom, exit] = Array.from({ length: 9 }, id)
  const step = (stepId: string | undefined, type: string, config: object) => ({ id: stepId, type, name: type, config })
  const hook = {
    url: 'http://127.0.0.2:9/{{ contact.id }}',
    headers: { authorization: 'Bearer {{ data.token }}' },
    body: { hello: '{{ email }}' },
  }
  const branches = [{ id: 'a', name: 'A', operator: 'equals', value: 'x' }]
  const to = (fromStepId: string, toStepId: string | undefined, branch?: string) => ({ fromStepId, toStepId, ...(branch && { branch }) })
  await made('PUT', `/workflows/${workflow.id}/graph`, {
    version: workflow.version,
    steps: [
      step(condition, 'CONDITION', nested),
      step(multi, 'CONDITION', { mode: 'multi', field: 'data.plan', branches }),
      step(wait, 'WAIT_FOR_EVENT', { eventName: 'paid', timeout: 60 }),
      step(dated, 'DELAY', { until: 'data.birthday', repeats: 'yearly', hour: 8, timezone: 'Europe/Berlin' }),
      step(webhook, 'WEBHOOK', hook),
      step(update, 'UPDATE_CONTACT', { updates: { seen: true }, subscriptionAction: 'subscribe' }),
      step(mail, 'SEND_EMAIL', { templateId: template.id }),
      step(custom, 'SEND_EMAIL', { templateId: template.id, recipient: { type: 'CUSTOM', customEmail: 'boss@shop.example' } }),
      step(exit, 'EXIT', { reason: 'done' }),
    ],
    transitions: [
      to(workflow.steps[0].id, condition),
      to(condition!, multi, 'yes'),
      to(condition!, exit, 'no'),
      to(multi!, wait, 'a'),
      to(multi!, exit, 'default'),
      to(wait!, dated),
      to(wait!, exit, 'timeout'),
      to(dated!, webhook),
      to(webhook!, update),
      to(update!, mail),
      to(mail!, custom),
    ],
  })
  const scheduled = await made('POST', '/workflows', { name: 'Scheduled', eventName: 'x' })
  const triggerConfig = { schedule: '0 9 * * 1', timezone: 'Europe/Berlin', segmentId: outer.id }
  await made('PATCH', `/workflows/${scheduled.id}`, { triggerType: 'SCHEDULE', triggerConfig })
  const manual = await made('POST', '/workflows', { name: 'By hand', eventName: 'x' })
  await made('PATCH', `/workflows/${manual.id}`, { triggerType: 'MANUAL' })
  const content = { subject: 'News', from, name: 'News' }
  const campaigns = [
    await made('POST', '/campaigns', { ...content, design, audienceType: 'FILTERED', audienceCondition: nested, ratePerMinute: 10 }),
    await made('POST', '/campaigns', {
      ...content,
      body: '<p>News</p>',
      audienceType: 'SEGMENT',
      segmentId: outer.id,
      type: 'TRANSACTIONAL',
    }),
  ]
  const endpoint = await made('POST', '/webhook-endpoints', {
    url: 'http://127.0.0.2:9/in',
    events: ['contact.*', 'event.order'],
    description: 'Shop',
  })
  const key = {
    kind: 'secret',
    name: 'Narrow',
    scopes: ['send', 'read'],
    senderDomains: [rich.domain],
    networks: ['192.0.2.0/24', '2001:db8::/32'],
  }
  expect((await rich.owner.call('POST', `/projects/${rich.id}/keys`, { body: key })).status).toBe(201)
  await made('POST', '/v1/send', {
    to: { email: 'bob@example.com', name: 'Bob' },
    from: { email: from, name: 'Ada' },
    subject: 'S',
    body: '<p>S</p>',
    headers: { 'X-Shop': 'one' },
    data: { a: 1 },
  })
  await until('the email is sent', async () => (await rich.call('GET', '/emails?status=SENT')).body.data.length === 1)
  return [
    '/contacts?limit=10',
    '/suppressions',
    ...[inner, outer].map((segment) => `/segments/${segment.id}`),
    `/templates/${template.id}`,
    ...[workflow, scheduled, manual].map((each) => `/workflows/${each.id}/versions`),
    `/workflows/${workflow.id}`,
    ...campaigns.map(({ data }) => `/campaigns/${data.id}`),
    `/emails?limit=5`,
    `/webhook-endpoints/${endpoint.id}`,
  ]
}

/** Without what an import sets, or counts anew. */
const withoutCounts = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (name, each) =>
    ['memberCount', 'countedAt', 'enabled', 'problems', 'health', 'failingSince'].includes(name) ? undefined : each,
  )

describe('a project with rows of every kind', () => {
  test.each([false, true])('is the same after the move (secrets: %s)', async (withSecrets) => {
    const rich = await newSendingProject(source)
    const paths = await fillWithEveryKind(rich)
    const name = `rich-${withSecrets}.gz`
    await write(rich.id, name, withSecrets)
    const { keys } = await read(name, ownerHere.email)
    const here = moved(rich.id, keys)
    for (const path of paths) {
      const [after, before] = [await here.call('GET', path), await rich.call('GET', path)]
      expect([path, after.status]).toEqual([path, 200])
      const secretless = (body: unknown) =>
        withSecrets ? body : JSON.parse(JSON.stringify(body), (field, each) => (['secret', 'headers'].includes(field) ? undefined : each))
      expect(withoutCounts(secretless(after.body)), path).toEqual(withoutCounts(secretless(before.body)))
    }
  })
})

describe('a file', () => {
  const uploads = () => readdirSync(join(folder, 'new', 'uploads')).sort()
  /** Tables that have rows of a project. */
  async function tablesWith(projectId: string) {
    const of = (table: string, column: string) =>
      sql`select ${table}::text as name where exists (select from ${sql.table(table)} where ${sql.ref(column)} = ${projectId})`
    const tables = Object.keys(PROJECT_TABLES).map((table) => of(table, 'project_id'))
    return many(target.db, sql`${sql.join([of('projects', 'id'), ...tables], sql` union all `)}`)
  }
  /** Refused, and nothing of it is left. */
  async function expectRefusal(name: string, message: RegExp, projectId: string) {
    const before = uploads()
    await expect(read(name, ownerHere.email)).rejects.toThrow(message)
    expect([await tablesWith(projectId), uploads()]).toEqual([[], before])
  }
  const linesOf = (name: string) =>
    gunzipSync(readFileSync(join(folder, name)))
      .toString()
      .trimEnd()
      .split('\n')
  let other: Project
  beforeAll(async () => {
    other = await newSendingProject(source)
    await fillProject(toFill(other))
  })
  const store = (name: string, lines: string[]) => writeFileSync(join(folder, name), gzipSync(`${lines.join('\n')}\n`))

  test('that is cut off, changed or of something else is refused, and leaves nothing behind', async () => {
    await write(other.id, 'other.gz')
    const whole = readFileSync(join(folder, 'other.gz'))
    for (const length of [0, 10, whole.length / 2, whole.length - 4]) {
      writeFileSync(join(folder, 'cut.gz'), whole.subarray(0, Math.floor(length)))
      await expectRefusal('cut.gz', /is incomplete or damaged/, other.id)
    }
    const lines = linesOf('other.gz')
    store('short.gz', lines.slice(0, -1))
    await expectRefusal('short.gz', /is incomplete or damaged/, other.id)
    store(
      'missing-row.gz',
      lines.filter((line) => !line.includes('reader3@example.com')),
    )
    await expectRefusal('missing-row.gz', /is incomplete or damaged/, other.id)
    store(
      'changed.gz',
      lines.map((line) => line.replace('reader3@example.com', 'intruder@example.com')),
    )
    await expectRefusal('changed.gz', /is incomplete or damaged/, other.id)
    store(
      'newer.gz',
      lines.map((line, index) => (index ? line : line.replace('"format":1', '"format":2'))),
    )
    await expectRefusal('newer.gz', /has the format 2/, other.id)
    writeFileSync(join(folder, 'text.gz'), gzipSync('{"a":1}\n'))
    await expectRefusal('text.gz', /is not the file of a project/, other.id)
    await expect(read('other.gz', 'nobody@example.com')).rejects.toThrow(/No account here has the address nobody@example.com/)
  })

  test('that fails after its rows and images were written leaves nothing behind', async () => {
    // One of the last tables of the file. By that name other projects do not wait for the transaction.
    await target.db.transaction().execute(async (tx) => {
      await sql`
        create function refuse_endpoint() returns trigger language plpgsql as $$ begin raise exception 'no endpoint for the %', current_setting('application_name'); end $$;
        create trigger refuse before insert on webhook_endpoints for each row execute function refuse_endpoint()
      `.execute(tx)
    })
    const restored = () => sql`drop trigger refuse on webhook_endpoints; drop function refuse_endpoint()`.execute(target.db)
    await expectRefusal('other.gz', /no endpoint for the project import/, other.id).finally(restored)
  })

  test('with secrets keeps API keys, DKIM keys and webhook secrets; by the command line', async () => {
    const printed: string[] = []
    const spies = (['log', 'error'] as const).map((how) =>
      vi.spyOn(console, how).mockImplementation((line: string) => void printed.push(line)),
    )
    const cli = (args: string[], url: string, more: Record<string, string>) => run(args, { DATABASE_URL: url, ...more })
    const small = await newSendingProject(source)
    const { body: key } = await small.owner.call('POST', `/projects/${small.id}/keys`, {
      body: { kind: 'secret', name: 'Shop', scopes: ['full'] },
    })
    const { body: endpoint } = await small.call('POST', '/webhook-endpoints', { url: 'http://127.0.0.2:9/in', events: ['*'] })
    const file = join(folder, 'small.gz')
    try {
      const exported = await cli(['project', 'export', small.id, file, '--with-secrets'], source.url, { ...env('old'), SECRET_KEY })
      const imported = await cli(['project', 'import', file, '--owner', ownerHere.email], target.url, {
        ...env('new'),
        SECRET_KEY: OTHER_KEY,
      })
      expect([exported, imported], printed.join('\n')).toEqual([0, 0])
    } finally {
      for (const spy of spies) spy.mockRestore()
    }
    expect(printed.join('\n')).toContain(`secret  ${small.sk}`)
    for (const secret of [small.sk, key.key]) {
      const answer = await target.call('GET', '/webhook-endpoints', { key: secret })
      expect([answer.status, answer.body]).toMatchObject([200, [{ id: endpoint.id, secret: endpoint.secret, enabled: false }]])
    }
    expect((await target.call('POST', '/v1/track', { key: small.pk, body: { email: 'new@example.com', event: 'arrived' } })).status).toBe(
      200,
    )
    const recordOf = async (call: typeof target.call) =>
      (await call('GET', `/domains/project/${small.id}`, { key: small.sk })).body[0].records.map(({ value }: { value: string }) => value)
    expect(await recordOf(target.call)).toEqual(await recordOf(source.call))
    const send = { to: 'reader@example.com', from: `hello@${small.domain}`, subject: 'Hi', body: '<p>Hi</p>' }
    expect((await target.call('POST', '/v1/send', { key: small.sk, body: send })).status).toBe(200)
  })

  describe('with rows that the API does not take', () => {
    // biome-ignore lint/suspicious/noExplicitAny: rows of every table, changed on purpose
    type AnyRow = any
    type Change = (row: AnyRow) => void
    const filters = (filter: object) => ({ logic: 'AND', groups: [{ filters: [filter] }] })
    const delay = (row: AnyRow) => row.graph.steps.find(({ type }: { type: string }) => type === 'DELAY')
    const graph = (change: Change): [string, Change] => ['workflow_graphs', (row) => delay(row) && change(row)]
    const inject = 'x@y.example>\r\nRCPT TO:<z@z.example'

    /** A copy of a file with changed rows, a right checksum and right counts. */
    function craft(from: string, name: string, changes: Record<string, Change>) {
      let table = ''
      const rows: Record<string, number> = {}
      const lines = linesOf(from)
        .slice(0, -1)
        .map((line, index) => {
          const row = JSON.parse(line)
          if (index && 'table' in row && 'columns' in row) {
            table = row.table
            rows[table] = 0
            return line
          }
          if (index) rows[table]!++
          const change = changes[index ? table : 'header']
          if (!change) return line
          change(row)
          return JSON.stringify(row)
        })
      const sha256 = createHash('sha256')
        .update(`${lines.join('\n')}\n`)
        .digest('hex')
      store(name, [...lines, JSON.stringify({ end: { rows, sha256 } })])
    }

    const set = (values: object) => (row: object) => void Object.assign(row, values)
    test.each<[string, string, Change, RegExp]>([
      [
        'a step without a config',
        ...graph((row) => (delay(row).config = null)),
        /row \d+ of workflow_graphs.* field graph\.steps\.\d\.config: Expected object/,
      ],
      [
        'a config that its step does not take',
        ...graph((row) => (delay(row).config = { amount: 'x', unit: 'days' })),
        /of workflow_graphs.* field graph\.steps\.\d\.config\.amount/,
      ],
      [
        'an unknown type of step',
        ...graph((row) => (delay(row).type = '__proto__')),
        /of workflow_graphs.* field graph\.steps\.\d\.type: Must be one of/,
      ],
      [
        'no list of transitions',
        ...graph((row) => (row.graph.transitions = 7)),
        /of workflow_graphs.* field graph\.transitions: Expected array/,
      ],
      [
        'a transition to nowhere',
        ...graph((row) => row.graph.transitions.slice(0, 1).forEach(set({ toStepId: randomUUID() }))),
        /of workflow_graphs.* field graph\.transitions\.0\.toStepId: No such step/,
      ],
      ['a trigger without an event', 'workflows', set({ trigger_config: {} }), /row 1 of workflows.* field triggerConfig\.eventName/],
      ['a workflow without steps', 'workflows', set({ version: 99 }), /no steps of the workflow/],
      [
        'an unknown unit in a segment',
        'segments',
        (row) => row.condition && set({ condition: filters({ field: 'data.x', operator: 'within', value: 'a', unit: 'eons' }) })(row),
        /row \d of segments.* field condition\.groups\.0\.filters\.0/,
      ],
      [
        'a segment that refers to itself',
        'segments',
        (row) => row.condition && set({ condition: filters({ field: `segment.${row.id}`, operator: 'memberOfSegment' }) })(row),
        /the segment .* field condition: A segment cannot refer to itself/,
      ],
      ['an address that ends a command', 'contacts', set({ email: inject }), /row 1 of contacts.* field email: Not a valid email address/],
      ['an address in another spelling', 'contacts', set({ email: 'Reader@Example.com' }), /row 1 of contacts.* field email/],
      ['a list as data of a contact', 'contacts', set({ data: [1, 2] }), /row 1 of contacts.* field data: Expected object/],
      ['such an address of a suppression', 'suppressions', set({ address: inject }), /row 1 of suppressions.* field address/],
      ['such an address of an email', 'emails', set({ to_address: inject }), /row 1 of emails.* field to_address/],
      [
        'a header with a line break',
        'contents',
        set({ headers: { 'X-A': 'a\r\nBcc: b@c.example' } }),
        /row 1 of contents.* field headers\.X-A: Must not contain line breaks/,
      ],
      ['a sender with a line break', 'templates', set({ from_name: 'Ada\r\nBcc: b@c.example' }), /row 1 of templates.* field from_name/],
      [
        'a design that is none',
        'templates',
        set({ design: { version: 1, content: [{ type: 'script' }] } }),
        /row 1 of templates.* field design\.content\.0/,
      ],
      [
        'a subject of two lines',
        'template_versions',
        set({ subject: 'a\nb' }),
        /row 1 of template_versions.* field subject: Must not contain line breaks/,
      ],
      [
        'an audience that is none',
        'campaigns',
        set({ audience_type: 'FILTERED', audience_condition: 7 }),
        /row 1 of campaigns.* field audience_condition: Expected object/,
      ],
      ['a sender that is no address', 'campaigns', set({ from_address: inject }), /row 1 of campaigns.* field from_address/],
      [
        'a webhook endpoint that is no URL',
        'webhook_endpoints',
        set({ url: 'file:///etc/passwd' }),
        /row 1 of webhook_endpoints.* field url: Must begin with/,
      ],
      ['an event without data', 'events', set({ data: 7 }), /row 1 of events.* field data: Expected object/],
      ['a value of another type', 'contacts', set({ created_at: 'no time' }), /rows 1 to \d of contacts.* invalid input syntax/],
      ['an event of 1600', 'header', set({ firstEventAt: '1600-01-01T00:00:00Z' }), /field firstEventAt: no event is from 1600/],
    ])('is refused, with the place of what is wrong: %s', async (_, table, change, message) => {
      await write(other.id, 'to-craft.gz').catch((err: Error) => expect(err.message).toContain('exists already'))
      craft('to-craft.gz', 'crafted.gz', { [table]: change })
      await expectRefusal('crafted.gz', message, other.id)
    })
  })

  test('without secrets has masks for what authenticates webhooks, which are entered again', async () => {
    const webhook = { url: 'http://127.0.0.2/in?token=QUERY-SECRET', method: 'POST', headers: { authorization: 'HEADER-SECRET' } }
    const mine = (await newSendingProject(source)) as Project
    const { body: workflow } = await mine.call('POST', '/workflows', { name: 'Calls', eventName: 'signup' })
    const { body: step } = await mine.call('POST', `/workflows/${workflow.id}/steps`, { type: 'WEBHOOK', config: webhook })
    await mine.call('POST', `/workflows/${workflow.id}/transitions`, { fromStepId: workflow.steps[0].id, toStepId: step.id })
    await mine.call('PATCH', `/workflows/${workflow.id}`, { enabled: true })
    const { body: contact } = await mine.call('POST', '/contacts', { email: 'ada@example.com' })
    await mine.call('POST', `/workflows/${workflow.id}/executions`, { contactId: contact.id })
    // An execution keeps the config of its steps.
    const visits = () => many(source.db, sql`select from workflow_step_executions where project_id = ${mine.id} and input ? 'url'`)
    await eventually(async () => expect(await visits()).toHaveLength(1))

    await write(mine.id, 'webhooks.gz')
    expect(gunzipSync(readFileSync(join(folder, 'webhooks.gz'))).toString()).not.toMatch(/QUERY-SECRET|HEADER-SECRET/)
    const { keys } = await read('webhooks.gz', ownerHere.email)
    const here = moved(mine.id, keys)
    const calls = async () => (await here.call('GET', `/workflows/${workflow.id}`)).body
    const { steps, problems } = await calls()
    const masked = { url: 'http://127.0.0.2/in?•••', method: 'POST', headers: { authorization: '•••' } }
    expect(steps.find(({ id }: { id: string }) => id === step.id).config).toEqual(masked)
    expect(problems).toEqual([
      { stepId: step.id, code: 'value_missing', message: 'The value of the header "authorization" is missing. Enter it again.' },
    ])
    const path = `/workflows/${workflow.id}`
    expect((await here.call('PATCH', `${path}/steps/${step.id}`, { config: masked })).status).toBe(200)
    const simulated = (await here.call('POST', `${path}/simulate`, {})).body
    expect(simulated).toMatchObject({ end: 'FAILED', reason: 'The value of the header "authorization" is missing. Enter it again.' })
    expect((await here.call('PATCH', `${path}/steps/${step.id}`, { config: webhook })).status).toBe(200)
    expect((await calls()).problems).toEqual([])
  })

  test('does not take a domain from another project', async () => {
    const small = await newSendingProject(source)
    await write(small.id, 'taken.gz')
    await there.call('POST', '/domains', { domain: small.domain })
    await expectRefusal('taken.gz', /Another project of this installation has the domain/, small.id)
  })
})
