import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Lets stacks name the lines of the sources, as `node --enable-source-maps` does. Node would read the maps of all files when it loads
 * them, which took a tenth of the CPU of a start, and 11 MB of memory: here a map is read when a stack with its file is first written.
 */
export function mapStacks(folder = new URL('.', import.meta.url).href) {
  const maps = new Map<string, SourceMap | undefined>()

  function mapOf(file: string) {
    if (!file.startsWith(folder)) return undefined
    if (!maps.has(file)) maps.set(file, readMap(file))
    return maps.get(file)
  }

  Error.prepareStackTrace = (error, sites) =>
    [firstLine(error), ...sites.map((site, i) => `    at ${describeSite(site, sites[i + 1], mapOf(site.getFileName() ?? ''))}`)].join('\n')
}

function readMap(file: string) {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(file)}.map`, 'utf8')))
  } catch {
    // A stack with lines of the bundle is better than an error about a map.
    return undefined
  }
}

function describeSite(site: NodeJS.CallSite, caller: NodeJS.CallSite | undefined, map: SourceMap | undefined) {
  const file = site.getFileName()
  const entry = map && find(map, site.getLineNumber(), site.getColumnNumber())
  if (!file || !map || !entry?.originalSource) return `${site}`
  const source = `${fileURLToPath(new URL(entry.originalSource, file))}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  const text = `${site}`.replace(`${file}:${site.getLineNumber()}:${site.getColumnNumber()}`, source)
  const [name, original] = [site.getFunctionName(), originalName(site, caller, map)]
  return name && original && NUMBERED.exec(name)?.[1] === original ? text.replace(name, original) : text
}

/** The bundle numbers functions of the same name: `close2`. */
const NUMBERED = /^(.+?)\d+$/

/** The name where the function begins, or else where its caller names it. */
function originalName(site: NodeJS.CallSite, caller: NodeJS.CallSite | undefined, map: SourceMap) {
  const name = find(map, site.getEnclosingLineNumber(), site.getEnclosingColumnNumber()).name
  if (name || caller?.getFileName() !== site.getFileName()) return name
  return find(map, caller!.getLineNumber(), caller!.getColumnNumber()).name
}

type Found = { originalSource?: string; originalLine: number; originalColumn: number; name?: string }

/** V8 counts lines and columns from one, maps from zero. */
const find = (map: SourceMap, line: number | null, column: number | null) => map.findEntry((line ?? 1) - 1, (column ?? 1) - 1) as Found

/** Errors of Node itself have a text of their own, with their code. A thrown value that is no error may have no text at all. */
const firstLine = (error: Error) => (error instanceof Error ? `${error}` : Error.prototype.toString.call(error))
