import { FAILOVERS, type Load, type Ran, runFailover } from './failovers.ts'
import type { Outcome } from './parts.ts'
import { PATRONI, runPatroni } from './patroni.ts'
import { POOLERS, runPooler } from './poolers.ts'
import { findTool } from './tools.ts'

type Part = { tools: string[]; run: (name: string, load: Load) => Promise<Ran> }

const PARTS: Record<string, Part> = {
  ...of(Object.keys(FAILOVERS), { tools: [], run: runFailover }),
  ...of(Object.keys(POOLERS), { tools: [], run: runPooler }),
  '5b. PgBouncer with deploy/pgbouncer.ini': { tools: ['pgbouncer'], run: runPooler },
  [PATRONI]: { tools: ['patroni', 'etcd', 'haproxy', 'pg_basebackup'], run: runPatroni },
}

function of(names: string[], part: Part) {
  return Object.fromEntries(names.map((name) => [name, part]))
}

const CLUSTER_PARTS = Object.keys(PARTS).sort()

/** Runs the parts whose names begin with one of `named`, or all. A part that lacks a program of this machine is skipped. */
export async function runClusterParts({ named, ...load }: Load & { named: string[] }): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const isNamed = (name: string) => !named.length || named.some((part) => name.startsWith(`${part}.`))
  for (const part of CLUSTER_PARTS.filter(isNamed)) {
    const outcome = await runPart(part, PARTS[part]!, load)
    load.say(`${outcome.result ? 'RUN' : 'SKIPPED'} ${part}`)
    outcomes.push(outcome)
  }
  return outcomes
}

async function runPart(part: string, { tools, run }: Part, load: Load): Promise<Outcome> {
  const found = tools.map((name) => ({ name, tool: findTool(name) }))
  const missing = found.filter(({ tool }) => !tool).map(({ name }) => name)
  const versions = found.map(({ name, tool }) => tool?.version ?? name)
  const mute = found.find(({ tool }) => tool && !tool.version)
  if (missing.length) return { part, versions: [], missing }
  if (mute) return { part, versions: [], missing, unusable: `${mute.tool!.path} cannot be run` }
  const result = await run(part, load).catch((err: Error): Ran => ({ figures: 'ended with an error', problems: [err.message] }))
  return { part, versions, missing, result }
}
