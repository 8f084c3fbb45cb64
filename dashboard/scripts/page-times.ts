/**
 * Times the change from page to page in a project with as many contacts, events and emails as the benchmark has: `npm run page-times`.
 * Then measures the work of typing in the largest forms; `npm run page-times -- typing` prints that alone, from a small project.
 * `BENCH_SCALE` is 0.1 unless set: 100,000 contacts and emails, 1,000,000 events. Writes dashboard/page-times.md.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { makePartitions, seedEvents } from '../../bench/paths/events.ts'
import { connectToBench, idAt, scaled, seedContacts } from '../../bench/seed.ts'
import { startNode } from '../../server/test/support/process.ts'
import { launchBrowser } from '../../server/test/support/processes/launch-browser.ts'
import { openPage, signUp, visitPage } from '../test/support/browser.ts'
import { FULL_ONLY, fillPath, PAGES } from '../test/support/pages.ts'
import { seedProject } from '../test/support/seed.ts'
import { measureTyping } from './typing-times.ts'

const ROUNDS = 5
const GOAL_MS = 300
const ONLY_TYPING = process.argv.includes('typing')
const scale = Number(process.env.BENCH_SCALE ?? 0.1)
const [contacts, events, emails] = [scaled(1_000_000, scale), scaled(10_000_000, scale), scaled(1_000_000, scale)]

/** Copies of one email, all sent. */
const seedEmails = (client: pg.Client, emailId: string, count: number) =>
  client.query(
    `insert into emails (project_id, id, content_id, contact_id, to_address, source_type, message_id, lane, stream_id, state, sent_at)
     select project_id, ${idAt('extract(epoch from now())::bigint * 1000 - n', 'md5(n::text)')}, content_id, contact_id, 'r' || n || '@example.com', source_type, gen_random_uuid() || '@x.example', lane,
       stream_id, 'sent', now()
     from emails, generate_series(1, $2::int) n where id = $1`,
    [emailId, count],
  )

async function seedLargeProject(dataDir: string, projectId: string, emailId: string) {
  await makePartitions(dataDir)
  const client = await connectToBench(dataDir)
  try {
    await seedContacts(client, projectId, scale)
    await seedEvents(client, projectId, events)
    await seedEmails(client, emailId, emails)
    await client.query('vacuum analyze emails')
  } finally {
    await client.end()
  }
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

const printTyping = (ratios: [string, number][]) => `## Typing

Work of the browser's main thread, as a ratio to a key in the only field of an empty page.

| what | ratio |
|---|---|
${ratios.map(([what, ratio]) => `| ${what} | ${ratio.toFixed(1)} |`).join('\n')}
`

function printReport(times: Map<string, number[]>) {
  const sorted = [...times].map(([name, all]) => [name, median(all)] as const).sort(([, a], [, b]) => b - a)
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const ofAll = Math.round(median(sorted.map(([, ms]) => ms)))
  const slow = sorted.filter(([, ms]) => ms > GOAL_MS).length
  return `# Page times of the dashboard

Written by \`npm run page-times\`: milliseconds from a click until nothing on the page loads any more, the median of ${ROUNDS - 1} visits.
Browser, server and database share one machine.

${cpus()[0]!.model}, ${cpus().length} cores, Node ${process.versions.node}, commit ${commit}, ${new Date().toISOString().slice(0, 10)}. Scale ${scale}:
${contacts.toLocaleString('en')} contacts, ${events.toLocaleString('en')} events, ${emails.toLocaleString('en')} emails.

Median of all pages: ${ofAll} ms; the goal is ${GOAL_MS} ms, which ${slow} of ${sorted.length} pages exceed.

| page | ms |
|---|---|
${sorted.map(([name, ms]) => `| ${name} | ${Math.round(ms)} |`).join('\n')}
`
}

const data = mkdtempSync(join(tmpdir(), 'sterna-page-times-'))
const [sterna, browser] = await Promise.all([
  startNode({ DATA_DIR: data, RATE_LIMIT_PER_MINUTE: '0' }),
  launchBrowser({ isMeasured: true }),
])
const errors: string[] = []
try {
  const page = await openPage(browser, sterna.url, errors, { viewport: { width: 1440, height: 900 } })
  const project = await signUp(page, 'owner@example.com', 'Large')
  const { ids } = await seedProject(page, project)
  if (!ONLY_TYPING) await seedLargeProject(data, project.id, ids.email)
  const times = new Map<string, number[]>()
  for (let round = 0; round < (ONLY_TYPING ? 0 : ROUNDS); round++) {
    for (const [name, path] of Object.entries({ ...PAGES, ...FULL_ONLY })) {
      const ms = await visitPage(page, fillPath(path, project.id, ids))
      // The first round loads the code of each page; 0 means that the whole dashboard was loaded anew.
      if (round > 0 && ms > 0) times.set(name, [...(times.get(name) ?? []), ms])
    }
  }
  const typing = printTyping(await measureTyping(page, project.id, ids))
  const report = ONLY_TYPING ? typing : `${printReport(times)}\n${typing}`
  console.log(report)
  if (!ONLY_TYPING) writeFileSync(join(import.meta.dirname, '../page-times.md'), report)
} finally {
  await browser.close()
  await sterna.stop()
  rmSync(data, { recursive: true, force: true })
}
if (errors.length > 0) console.error(errors.join('\n'))
