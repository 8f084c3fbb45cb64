import { createCache } from '../../lib/cache.ts'
import { KB, MB } from '../../lib/units.ts'

/** Characters of HTML that emails of one content may have while they are rendered and built together. */
const TOGETHER = 2 * MB
/** Without tags, a body of this size stays about as large when it is rendered. */
const SMALL = 64 * KB
const REMEMBERED = 1_000

type Content = { id: string; body: string }
type Result = { ok: true; html: string } | { ok: false }

/**
 * How many emails of a content may be rendered together. A template of some kilobytes with a loop becomes megabytes for each recipient,
 * and all emails of a claim at once would be hundreds of them.
 */
export function createRenderedSizes() {
  const largest = createCache<string, number>({ maxEntries: REMEMBERED })

  return {
    countTogether({ id, body }: Content) {
      const size = largest.get(id)
      if (size !== undefined) return Math.max(1, Math.floor(TOGETHER / size))
      return body.length > SMALL || body.includes('{%') ? 1 : Number.POSITIVE_INFINITY
    },
    note({ id }: Content, results: Result[]) {
      const size = Math.max(largest.get(id) ?? 1, ...results.map((result) => (result.ok ? result.html.length : 1)))
      largest.set(id, size)
    },
  }
}
