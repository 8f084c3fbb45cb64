import { createCache } from '../../../lib/collections/cache.ts'
import { KB, MB } from '../../../lib/text/units.ts'
import { type Content, filesSizeOf } from '../../outbox/contents/content.ts'

/** Characters of HTML, and bytes of files, that may be rendered and built together for one content. */
const MAX_TOGETHER = 2 * MB
/** A body up to this size without Liquid tags stays about as large when it is rendered. */
const SMALL = 64 * KB
const MAX_REMEMBERED = 1_000

type Result = { ok: true; html: string } | { ok: false }

/**
 * Decides how many emails of a content may be rendered together. A loop turns a template of some kilobytes into megabytes per recipient, and
 * rendering all emails of a claim at once would take hundreds of megabytes.
 */
export function createRenderedSizes() {
  const largest = createCache<string, number>({ maxEntries: MAX_REMEMBERED })

  return {
    countTogether(content: Pick<Content, 'id' | 'body' | 'attachments' | 'raw'>) {
      const { id, body, raw } = content
      const size = largest.get(id)
      if (!raw && size === undefined && (body.length > SMALL || body.includes('{%'))) return 1
      const bytes = filesSizeOf(content) + (size ?? 0)
      return bytes ? Math.max(1, Math.floor(MAX_TOGETHER / bytes)) : Number.POSITIVE_INFINITY
    },
    note({ id }: Pick<Content, 'id'>, results: Result[]) {
      const size = Math.max(largest.get(id) ?? 1, ...results.map((result) => (result.ok ? result.html.length : 1)))
      largest.set(id, size)
    },
  }
}
