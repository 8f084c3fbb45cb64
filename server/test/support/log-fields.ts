import { readFileSync } from 'node:fs'

/** The fields that docs/monitoring.md lists under "Log lines". */
export function documentedLogFields(): Set<string> {
  const docs = readFileSync(new URL('../../../docs/monitoring.md', import.meta.url), 'utf8')
  const section = /^## Log lines$([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(docs)?.[1] ?? ''
  const cells = [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell]) => cell!)
  return new Set(cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!)))
}
