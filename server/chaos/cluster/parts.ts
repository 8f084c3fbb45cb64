/** A part of the suite. Its tools are programs that a machine may have or not. */
export type Outcome = {
  part: string
  /** Tools with their versions. */
  versions: string[]
  /** Tools that this machine does not have. */
  missing: string[]
  /** Why it was not run although no tool is missing. */
  unusable?: string
  result?: { figures: string; problems: string[] }
}
/** A line of the table: its part, RUN or SKIPPED, and the rest. */
export type Line = { part: string; state: 'RUN' | 'SKIPPED'; cells: string[] }

const COLUMNS = ['part', '', 'with', 'result', 'of']

/** The lines of a table that an earlier run has written. */
export const readLines = (section: string): Line[] =>
  section
    .split('\n')
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter(([, state]) => state === 'RUN' || state === 'SKIPPED')
    .map(([part, state, ...cells]) => ({ part: part!, state: state as Line['state'], cells }))

export const writeLines = (lines: Line[]) =>
  [COLUMNS, COLUMNS.map(() => '---'), ...lines.map(({ part, state, cells }) => [part, state, ...cells])]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')

/**
 * What becomes of the lines. A part that lacks a tool keeps the line of the machine that had it: otherwise the next run there could skip it and
 * nobody would notice.
 */
export function mergeLines(committed: Line[], outcomes: Outcome[], commit: string): Line[] {
  const fresh = outcomes.map((outcome) => {
    const former = committed.find(({ part }) => part === outcome.part)
    return outcome.missing.length && former?.state === 'RUN' ? former : lineOf(outcome, commit)
  })
  const others = committed.filter(({ part }) => !outcomes.some((outcome) => outcome.part === part))
  return [...others, ...fresh].sort((a, b) => (a.part < b.part ? -1 : 1))
}

const lineOf = ({ part, versions, missing, unusable, result }: Outcome, commit: string): Line =>
  result
    ? { part, state: 'RUN', cells: [versions.join(', '), result.figures, commit] }
    : { part, state: 'SKIPPED', cells: [missing.length ? `needs ${missing.join(', ')}` : '', unusable ?? '', commit] }

/** Parts that an earlier run had, and that this one has left out although the machine has all tools. */
export const skippedWithTools = (committed: Line[], outcomes: Outcome[]) =>
  outcomes
    .filter(
      ({ part, missing, result }) => !result && !missing.length && committed.some((line) => line.part === part && line.state === 'RUN'),
    )
    .map(({ part, unusable }) => `${part}: skipped, although this machine has its tools${unusable ? ` (${unusable})` : ''}`)
