export type DiffLine = { kind: 'same' | 'removed' | 'added'; text: string /** Unique in the diff. */; id: number }

/** Beyond this, comparing line by line would take too long: the whole middle counts as changed. */
const MAX_CELLS = 1_000_000

/** The lines of `before` and `after` as one list. At a difference the lines of `before` come first. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split(/\r?\n/), after.split(/\r?\n/)]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const lines: Omit<DiffLine, 'id'>[] = [
    ...a.slice(0, start).map((text) => ({ kind: 'same' as const, text })),
    ...diffMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map((text) => ({ kind: 'same' as const, text })),
  ]
  return lines.map((line, id) => ({ ...line, id }))
}

/** By the longest common subsequence of lines. */
function diffMiddle(a: string[], b: string[]): Omit<DiffLine, 'id'>[] {
  if (a.length * b.length > MAX_CELLS) return [...a.map(removed), ...b.map(added)]
  // common[i][j]: length of the longest common subsequence of a from i on and b from j on.
  const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i]![j] = a[i] === b[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!)
    }
  }
  const lines: Omit<DiffLine, 'id'>[] = []
  let [i, j] = [0, 0]
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i]! })
      i++
      j++
    } else if (common[i + 1]![j]! >= common[i]![j + 1]!) lines.push(removed(a[i++]!))
    else lines.push(added(b[j++]!))
  }
  return [...lines, ...a.slice(i).map(removed), ...b.slice(j).map(added)]
}

const removed = (text: string) => ({ kind: 'removed' as const, text })
const added = (text: string) => ({ kind: 'added' as const, text })

export type DiffPart = DiffLine | { kind: 'skipped'; count: number; id: number }

/** Only changed lines and `around` lines beside them; the rest is counted. */
export function foldDiff(lines: DiffLine[], around = 3): DiffPart[] {
  const keep = new Set<number>()
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'same') continue
    for (let near = index - around; near <= index + around; near++) keep.add(near)
  }
  const parts: DiffPart[] = []
  for (const [index, line] of lines.entries()) {
    const last = parts.at(-1)
    if (keep.has(index)) parts.push(line)
    else if (last?.kind === 'skipped') last.count++
    else parts.push({ kind: 'skipped', count: 1, id: line.id })
  }
  return parts
}
