import { z } from 'zod'
import type { ContactRow } from '../contacts/record/contact.ts'
import { type DataPatch, NO_DATA } from '../contacts/record/data.ts'
import { type Db, one } from '../db/index.ts'
import { FrameUrl } from '../http/preview-frame.ts'
import { invalid } from '../lib/errors/errors.ts'
import { NIL_ID } from '../lib/id.ts'
import type { Secrets } from '../lib/secrets.ts'
import { preferenceLinks } from '../preferences/link.ts'
import { type Reference, settleNames } from './language/prepare.ts'
import { hasVariable, isMissing, isStandard, type Recipient } from './language/variables.ts'
import { outgoingHtmlString, resolveFromName } from './outgoing-html.ts'
import { inspectTemplate, renderEmail, textOf } from './rendering/render.ts'
import type { TemplateSource } from './rendering/rendered-email.ts'
import type { TYPES } from './template.ts'

export const Preview = z.object({
  subject: z.string(),
  html: z.string(),
  text: z.string(),
  frameUrl: FrameUrl.optional(),
  missingVariables: z.array(z.string()).describe('Variables without a value and without a fallback.'),
})

type PreviewedTemplate = TemplateSource & { type: (typeof TYPES)[number]; from: string | null; fromName: string | null }
type Sample = { email?: string | undefined; subscribed?: boolean | undefined; locale?: string | undefined; data?: DataPatch | undefined }

/** The sender of a template that has none. */
const SAMPLE_FROM = 'sender@example.com'

/**
 * The email as it would be sent to this recipient. Without open and click tracking, because looking at a preview must not count as an
 * open or a click of the recipient. Writes nothing.
 */
export async function previewTemplate(
  db: Db,
  projectId: string,
  template: PreviewedTemplate,
  recipient: Recipient,
): Promise<z.output<typeof Preview>> {
  const content = { ...template, ...(await envelopeOf(db, projectId, template)) }
  const [shown, { references }] = await Promise.all([previewContent(projectId, content, recipient), inspectTemplate(template, projectId)])
  return { ...shown, missingVariables: findMissing(references, recipient).map((path) => path.join('.')) }
}

type PreviewedContent = TemplateSource & Parameters<typeof outgoingHtmlString>[0]

/** Renders, and adds what delivery adds. */
export async function previewContent(projectId: string, content: PreviewedContent, recipient: Recipient) {
  const rendered = await renderEmail(content, recipient, { projectId })
  if (!rendered.ok) return invalid('body', rendered.reason)
  const html = outgoingHtmlString(content, recipient, rendered)
  const converted = await textOf(html, projectId)
  if (!converted.ok) return invalid('body', converted.reason)
  return { subject: rendered.subject, html, text: converted.text }
}

/** The inputs of the footer, as delivery reads them from the content of an email. */
async function envelopeOf(db: Db, projectId: string, { type, from, fromName }: PreviewedTemplate) {
  const project = await one<{ name: string; language: string }>(db)`select name, language from projects where id = ${projectId}`
  const shownName = resolveFromName({ fromAddress: from ?? SAMPLE_FROM, fromName, projectName: project.name })
  return { type, fromName: shownName, projectLanguage: project.language }
}

/** Variables of a template that have no fallback, and no value for this recipient. */
export function findMissing(references: Reference[], recipient: Recipient): string[][] {
  const settled = settleNames(references, (path) => hasVariable(recipient, path))
  const missing = settled.filter(({ path, needsValue }) => needsValue && !isStandard(path[0]!) && isMissing(recipient, path))
  return [...new Map(missing.map(({ path }) => [path.join('.'), path])).values()]
}

type Context = { publicUrl: string; secrets: Secrets; projectId: string }

/** A contact or a made-up recipient. Values of the sample override those of the contact. */
export function sampleRecipient({ publicUrl, secrets, projectId }: Context, contact: ContactRow | undefined, sample: Sample): Recipient {
  const { set, unset, transient } = sample.data ?? NO_DATA
  const data: Record<string, unknown> = { ...contact?.data, ...set, ...transient }
  for (const key of unset) delete data[key]
  // No contact has the nil id: the links of a made-up recipient lead to a page that says "not found".
  const id = contact?.id ?? NIL_ID
  return {
    id,
    email: sample.email ?? contact?.email ?? 'someone@example.com',
    subscribed: sample.subscribed ?? contact?.subscribed ?? true,
    createdAt: (contact?.createdAt ?? new Date()).toISOString(),
    ...(sample.locale === undefined ? {} : { locale: sample.locale }),
    ...preferenceLinks(secrets, publicUrl, { projectId, contactId: id }),
    data,
  }
}
