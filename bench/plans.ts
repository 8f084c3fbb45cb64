import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { buildApp } from '../server/src/app.ts'
import { attachEmbedded } from '../server/src/db/embedded/embedded.ts'
import { connect } from '../server/src/db/index.ts'
import { loadConfig } from '../server/src/lib/config.ts'
import { readMasterKeys } from '../server/src/lib/master-key.ts'
import { createLog } from '../server/src/lib/process/log.ts'
import { deriveSecrets } from '../server/src/lib/secrets.ts'
import { keptDataFolder } from './data-folder.ts'
import { startScript } from './node.ts'
import { datedPath, ENDPOINTS } from './paths/insight.ts'
import { connectToBench } from './seed.ts'

// Writes bench/plans.md: how PostgreSQL runs each statement of activity and analytics, on the project that `npm run bench -- insight` keeps.

const DATA_DIR = keptDataFolder()
const events = Math.round(10_000_000 * Number(process.env.BENCH_SCALE ?? 1))
const NOTE = `${DATA_DIR}/insight-${events}.json`

type Statement = { text: string; values: unknown[] }
type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

if (!existsSync(NOTE)) throw new Error(`run BENCH_SCALE=${events / 10_000_000} npm run bench -- insight first`)
const { projectId, secretKey }: { projectId: string; secretKey: string } = JSON.parse(readFileSync(NOTE, 'utf8'))
const seen = watchStatements()
const node = await startScript('./server.mjs', { DATA_DIR, ROLE: 'api' })
try {
  const { url } = (await attachEmbedded(DATA_DIR))!
  const client = await connectToBench(DATA_DIR)
  const config = loadConfig({ DATA_DIR })
  const log = createLog('warn')
  const db = connect({ url, max: 3, log })
  const app = await buildApp({ config, db, log, secrets: deriveSecrets(...readMasterKeys(config)) }, {})
  const lines: string[] = []
  for (const endpoint of ENDPOINTS) {
    seen.length = 0
    const { statusCode } = await app.inject({ url: datedPath(endpoint), headers: { authorization: `Bearer ${secretKey}` } })
    if (statusCode !== 200) throw new Error(`${endpoint} responded ${statusCode}`)
    const statements = seen.filter(({ text, values }) => /^\s*(with|select)\b/i.test(text) && values.includes(projectId))
    for (const statement of statements) lines.push(`| \`${endpoint}\` | ${await describe(client, statement)} |`)
  }
  await client.end()
  await app.close()
  await db.destroy()
  writeFileSync(new URL('./plans.md', import.meta.url), reportOf(lines))
} finally {
  await node.stop()
}

/** Every statement that this process sends. */
function watchStatements() {
  const statements: Statement[] = []
  const original = pg.Client.prototype.query
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first, values] = args as [string | { text: string; values?: unknown[] }, unknown[]?]
    if (typeof first === 'string') statements.push({ text: first, values: values ?? [] })
    else if (first && 'text' in first) statements.push({ text: first.text, values: first.values ?? values ?? [] })
    return Reflect.apply(original, this, args)
  } as typeof original
  return statements
}

async function describe(client: pg.Client, { text, values }: Statement) {
  const { rows } = await client.query(`explain (analyze, format json) ${text}`, values)
  const [{ Plan: plan, 'Execution Time': ms }] = rows[0]['QUERY PLAN'] as [{ Plan: Plan; 'Execution Time': number }]
  const scans = scansOf(plan).map(
    ({ name, access, read }) => `${name} by ${access}${read ? `, ${read.toLocaleString('en')} rows` : ', no row'}`,
  )
  return `${scans.length ? [...new Set(scans)].join('; ') : 'no table'} | ${ms.toFixed(1)} ms`
}

type Scan = { name: string; access: string; read: number }

function scansOf(plan: Plan): Scan[] {
  const own = plan['Relation Name'] || plan['Index Name'] ? [scanOf(plan)] : []
  return [...own, ...(plan.Plans ?? []).flatMap(scansOf)].filter(({ name }) => name !== 'projects')
}

function scanOf(plan: Plan): Scan {
  return {
    name: plan['Relation Name'] ?? plan['Index Name']!,
    access: plan['Index Name'] ?? plan['Node Type'].toLowerCase(),
    read: Math.round((plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']),
  }
}

function reportOf(lines: string[]) {
  return `# Plans of activity and analytics

Written by \`bench/plans.ts\`: each statement of the endpoints, on a project with ${events.toLocaleString('en')} events in 90 days, 500 campaigns
and 40 templates. Tables and the index or scan that reads them, with the rows read.

| endpoint | reads | time |
|---|---|---|
${lines.join('\n')}
`
}
