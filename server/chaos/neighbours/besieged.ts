import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { destroyTestFolder, newTestFolder } from '../../test/support/postgres.ts'
import { startCluster } from '../nodes/nodes.ts'
import { startRelay } from '../nodes/relay-server.ts'
import { newProject, verifyDomain } from '../support/project.ts'
import { createRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { meterOf, startAttacker } from './neighbours.ts'
import { startNeighbours } from './neighbours-load.ts'
import { judgeSiege, type SiegePhase, siegeCells, siegeColumns } from './siege-check.ts'
import { SIEGE_NAMES, SILENT, type SiegeName, type SiegeOutcome } from './sieges.ts'
import { startVictim } from './victim.ts'

type Plan = { seed: number; idleMs: number; sieges?: SiegeName[]; say?: (line: string) => void }
type Siege = { name: SiegeName; idle: SiegePhase; phase: SiegePhase }

const NEIGHBOURS = ['alpha', 'beta', 'gamma']
const PER_SECOND = 30
/** At least: the requests of some sieges take longer. Dots without a reply are watched until slots would be given up for the seventh time. */
const LASTS_MS: Record<SiegeName, number> = {
  'silent dots': 130_000,
  'campaigns that are slow to freeze': 60_000,
  'hanging webhook hosts': 60_000,
  'filters on long texts': 30_000,
  'events that are remembered': 30_000,
}
/** An email that takes longer counts as missing. */
const ARRIVES_MS = 20_000

/**
 * One tenant does one thing that takes long, with all limits kept, while others send emails, start campaigns and call webhooks. Each siege has
 * a node of its own: what is left of one must not disturb the next, and the idle phase is measured on the same node.
 */
export async function neighboursBesieged({ sieges = SIEGE_NAMES, say = () => {}, ...plan }: Plan) {
  const done: Siege[] = []
  const problems: string[] = []
  say(['', ...siegeColumns].join(' | '))
  for (const name of sieges) {
    const { idle, phase, problems: found } = await besiegeOnce(name, plan)
    done.push({ name, idle, phase })
    problems.push(...judgeSiege(name, phase, idle), ...found.map((problem) => `${name}: ${problem}`))
    for (const [row, each] of Object.entries({ [`idle before ${name}`]: idle, [name]: phase }))
      say([row, ...siegeCells(each, idle)].join(' | '))
  }
  return { sieges: done, problems }
}

async function besiegeOnce(name: SiegeName, plan: { seed: number; idleMs: number }) {
  const relay = await startRelay()
  relay.addRule({ stage: 'dot', silent: true, appliesTo: ({ recipient }) => recipient.startsWith(`${SILENT}+`) })
  const folder = newTestFolder()
  const meterFile = join(folder, 'meter')
  const env = {
    SMTP_URL: relay.url,
    PUBLIC_URL: 'http://mail.chaos.example',
    WEBHOOK_ALLOW_PRIVATE: '127.0.0.0/8',
    METER_FILE: meterFile,
  }
  const cluster = await startCluster({ env, entry: 'measured', single: true, commitsAreFast: true })
  const db = connect({ url: cluster.databaseUrl, max: 2, log: createLog('silent') })
  const { url } = cluster.main
  const setUp = async (owner: string) => {
    const project = { ...(await newProject(url, owner)), url, domain: `${owner}.chaos.example` }
    await verifyDomain(db, url, project)
    return project
  }
  try {
    const projects = []
    for (const each of NEIGHBOURS) projects.push(await setUp(each))
    const attacking = await startAttacker(await setUp('attacker'))
    const victim = await startVictim(await setUp('victim'), relay)
    const neighbours = startNeighbours({ projects, perSecond: PER_SECOND, random: createRandom(plan.seed) })
    const meter = meterOf(cluster.main, meterFile)

    const measure = async (work: () => Promise<SiegeOutcome | undefined>): Promise<SiegePhase> => {
      await neighbours.take()
      await meter()
      victim.take()
      const attacker = await work()
      const { emails } = await neighbours.take()
      const sampled = victim.take()
      const arrivedAt = () => new Map(relay.taken.map(({ id, at }) => [id, at]))
      const countMissing = () => emails.filter(({ id }) => !arrivedAt().has(id)).length
      await until('the emails of neighbours arrive', ARRIVES_MS, () => countMissing() === 0).catch(() => {})
      const arrived = arrivedAt()
      const times = emails.map(({ id, at }) => Math.max(0, (arrived.get(id) ?? Date.now()) - at))
      const { maxRss } = await meter()
      return { ...sampled, emails: times, missing: countMissing(), maxRss, ...(attacker ? { attacker } : {}) }
    }
    // Caches fill and code gets compiled before the idle phase is measured.
    await measure(() => sleep(plan.idleMs / 2, undefined))
    victim.problems.splice(0)
    const idle = await measure(() => sleep(plan.idleMs, undefined))
    const phase = await measure(() => attacking.give({ siege: name, lastsMs: LASTS_MS[name] }))
    await neighbours.stop()
    await victim.stop()
    attacking.stop()
    return { idle, phase, problems: [...new Set(victim.problems), ...cluster.problems] }
  } finally {
    await db.destroy()
    relay.stop()
    await cluster.destroy()
    destroyTestFolder(folder)
  }
}
