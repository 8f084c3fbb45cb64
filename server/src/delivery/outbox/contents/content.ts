import { type CamelRow, columns, type RowOf } from '../../../db/columns.ts'
import { type Db, many } from '../../../db/index.ts'
import { prepared } from '../../../db/prepared.ts'
import { recordset } from '../../../db/rows.ts'
import { createCache } from '../../../lib/collections/cache.ts'
import { KB, MB } from '../../../lib/text/units.ts'
import type { Attachment } from '../../../mime/compose.ts'
import { resolveFromName } from '../../../templates/outgoing-html.ts'
import type { findTemplate } from '../../../templates/template.ts'
import type { EmailType } from '../../rules/may-send.ts'
import { readLargeParts } from './large-content.ts'
import type { NewContent } from './new-content.ts'

const FROM = ['fromAddress', 'fromName', 'replyTo'] as const
const COLUMNS = columns('contents', 'c', ['projectId', 'id', 'type', 'subject', 'previewText', ...FROM, 'headers', 'templateId'])

export type Content = RowOf<typeof COLUMNS> & {
  type: EmailType
  fromName: string
  headers: Record<string, string>
  projectLanguage: string
  body: string
  attachments: Attachment[]
  /** A message that is sent as it is, instead of the body. */
  raw: RawContent | null
  /** Bytes of the body, the attachments and the message of a large content while they are not read; 0 when they are. */
  unreadBytes: number
}
/** `form`: what it needs of servers on its way. `isTracked`: its sender asked for the tracking of opens and clicks. */
export type RawContent = { bytes: Uint8Array; form: '7bit' | '8bit' | 'utf8'; isTracked: boolean }

/** Enough for the contents of many streams at once; bounds memory whatever their size. */
const MAX_KEPT = 64 * MB
/** Bytes of body, attachments and message up to which they are read with the rest. Hundreds of emails may be claimed at once. */
const LARGE = 256 * KB

export type Contents = ReturnType<typeof createContents>

/** Caches contents, which never change. */
export function createContents(db: Db) {
  const kept = createCache<string, Content>({ maxWeight: MAX_KEPT })

  function keep(content: Content) {
    kept.set(content.id, content, sizeOf(content))
    return content
  }

  return {
    /** The contents of emails. Those that are large come without their body, attachments and message. */
    async find(emails: Pick<CamelRow<'emails'>, 'projectId' | 'contentId'>[]) {
      const found = new Map<string, Content>()
      const missing = new Map<string, string>()
      for (const { projectId, contentId } of emails) {
        const known = kept.get(contentId)
        if (known) found.set(contentId, known)
        else missing.set(contentId, projectId)
      }
      for (const content of await loadContents(db, missing)) found.set(content.id, keep(content))
      return (email: Pick<CamelRow<'emails'>, 'contentId'>) => found.get(email.contentId)
    },
    /** The same content with its body, attachments and message. */
    async complete(content: Content): Promise<Content> {
      const known = kept.get(content.id) ?? content
      return known.unreadBytes ? keep({ ...known, ...(await readLargeParts(db, known)), unreadBytes: 0 }) : known
    },
  }
}

/** Bytes in memory, roughly. */
const sizeOf = (content: Content) => 1_000 + 2 * content.body.length + filesSizeOf(content)

/** Bytes of the attachments and the message of a content. */
export const filesSizeOf = ({ attachments, raw }: Pick<Content, 'attachments' | 'raw'>) =>
  attachments.reduce((sum, { content }) => sum + content.length, raw?.bytes.length ?? 0)

type ContentRow = Omit<Content, 'attachments' | 'fromName' | 'raw'> &
  Pick<CamelRow<'contents'>, 'fromName' | 'raw' | 'rawTracked'> & { rawForm: RawContent['form'] | null; projectName: string }

async function loadContents(db: Db, wanted: Map<string, string>): Promise<Content[]> {
  if (!wanted.size) return []
  const keys = recordset(
    'contents',
    [...wanted].map(([id, projectId]) => ({ id, projectId })),
    ['projectId', 'id'],
  )
  const contents = many(
    db,
    prepared<ContentRow>`
    select ${COLUMNS}, c.raw_form as "rawForm", c.raw_tracked as "rawTracked", p.name as "projectName", p.language as "projectLanguage",
      case when s.bytes > ${LARGE} then s.bytes::int else 0 end as "unreadBytes",
      case when s.bytes <= ${LARGE} then c.body else '' end as body, case when s.bytes <= ${LARGE} then c.raw end as raw
    from ${keys} as k
    join contents c on c.project_id = k."projectId" and c.id = k.id
    join projects p on p.id = c.project_id
    cross join lateral (
      select octet_length(c.body) + coalesce(octet_length(c.raw), 0) + coalesce(sum(octet_length(a.bytes)), 0) as bytes
      from attachments a where a.project_id = c.project_id and a.content_id = c.id) as s
  `,
  )
  const files = many(
    db,
    prepared<Omit<CamelRow<'attachments'>, 'projectId'>>`
    select a.* from (
      select a.content_id as "contentId", a.position, a.filename, a.content_type as "contentType", a.cid, a.inline, a.bytes,
        sum(octet_length(a.bytes)) over (partition by a.content_id) as sum
      from ${keys} as k
      join attachments a on a.project_id = k."projectId" and a.content_id = k.id) as a
    where a.sum <= ${LARGE}
    order by a."contentId", a.position
  `,
  )
  const [found, attachments] = await Promise.all([contents, files])
  return found.map(({ fromName, projectName, raw, rawForm, rawTracked, ...content }) => ({
    ...content,
    raw: raw && { bytes: raw, form: rawForm!, isTracked: rawTracked === true },
    fromName: resolveFromName({ fromAddress: content.fromAddress, fromName, projectName }),
    attachments: attachments
      .filter(({ contentId }) => contentId === content.id)
      .map(({ filename, contentType, cid, inline, bytes }) => ({ filename, contentType, contentId: cid, inline, content: bytes })),
  }))
}

type Template = NonNullable<Awaited<ReturnType<typeof findTemplate>>>

/** Fields that take precedence over those of the template. Without a template, subject and body are required. */
type ContentFields = { fromAddress: string } & {
  [Field in 'subject' | 'previewText' | 'body' | 'fromName' | 'replyTo']?: string | null | undefined
} & { headers?: Record<string, string> | undefined }

/** The content of an email: that of a template, if there is one, with the given fields instead of the template's. */
export const contentFrom = (
  template: Template | undefined,
  { fromAddress, subject, previewText, body, fromName, replyTo, headers = {} }: ContentFields,
): Omit<NewContent, 'projectId' | 'id'> => ({
  type: template?.type ?? 'TRANSACTIONAL',
  subject: subject ?? template?.subject ?? '',
  previewText: previewText ?? template?.previewText ?? null,
  body: body ?? template?.body ?? '',
  fromAddress,
  fromName: fromName || template?.fromName || null,
  replyTo: replyTo ?? template?.replyTo ?? null,
  headers,
  templateId: template?.id ?? null,
  templateVersion: template?.version ?? null,
})
