import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** Replaces the section of that name and leaves the others as they are. */
export function keepSection(file: URL, title: string, name: string, section: string) {
  const parts = readSections(file)
  parts.set(name, section.trim())
  writeFileSync(file, `${title}\n${[...parts].map(([each, part]) => `## ${each}\n\n${part}\n`).join('\n')}`)
}

/** The sections of a file by their names. */
export function readSections(file: URL) {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return new Map(
    text
      .split(/^## /m)
      .slice(1)
      .map((part) => [part.split('\n')[0]!, part.slice(part.indexOf('\n') + 1).trim()]),
  )
}
