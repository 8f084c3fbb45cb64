import { z } from 'zod'
import type { ContactRow } from '../contacts/contact.ts'
import { type DataPatch, NO_DATA } from '../contacts/data.ts'
import { invalid } from '../lib/errors.ts'
import { NIL_ID } from '../lib/id.ts'
import type { Secrets } from '../lib/secrets.ts'
import { type PreferenceLinks, preferenceLinks } from '../preferences/link.ts'
import type { Reference } from './language/prepare.ts'
import { isMissing, isStandard, type Recipient } from './language/variables.ts'
import { inspectTemplate, renderMail } from './render.ts'
import type { TemplateSource } from './rendered-email.ts'

export const Preview = z.object({
  subject: z.string(),
  html: z.string(),
  text: z.string(),
  missingVariables: z.array(z.string()).describe('Variables without a value and without a fallback.'),
})

type Sample = { email?: string | undefined; subscribed?: boolean | undefined; locale?: string | undefined; data?: DataPatch | undefined }

/** The mail as this recipient would get it. */
export async function previewTemplate(
  projectId: string,
  template: TemplateSource,
  recipient: Recipient,
): Promise<z.output<typeof Preview>> {
  const rendered = await renderMail(template, recipient, { withText: true, projectId })
  if (!rendered.ok) return invalid('body', rendered.reason)
  const { subject, html, text = '' } = rendered
  return { subject, html, text, missingVariables: missing((await inspectTemplate(template, projectId)).references, recipient) }
}

const missing = (references: Reference[], recipient: Recipient) => [
  ...new Set(
    references
      .filter(({ path, needsValue }) => needsValue && !isStandard(path[0]!) && isMissing(recipient, path))
      .map(({ path }) => path.join('.')),
  ),
]

/** Of somebody made up, the links lead nowhere. */
const linksToNowhere = (publicUrl: string): PreferenceLinks => ({
  unsubscribeUrl: `${publicUrl}/unsubscribe/preview`,
  subscribeUrl: `${publicUrl}/subscribe/preview`,
  manageUrl: `${publicUrl}/manage/preview`,
})

type Where = { publicUrl: string; secrets: Secrets }

/** A contact, or somebody made up; what the request says of them counts first. */
export function sampleRecipient({ publicUrl, secrets }: Where, contact: ContactRow | undefined, sample: Sample): Recipient {
  const { set, unset, transient } = sample.data ?? NO_DATA
  const data: Record<string, unknown> = { ...contact?.data, ...set, ...transient }
  for (const key of unset) delete data[key]
  return {
    id: contact?.id ?? NIL_ID,
    email: sample.email ?? contact?.email ?? 'someone@example.com',
    subscribed: sample.subscribed ?? contact?.subscribed ?? true,
    createdAt: (contact?.createdAt ?? new Date()).toISOString(),
    ...(sample.locale === undefined ? {} : { locale: sample.locale }),
    ...(contact ? preferenceLinks(secrets, publicUrl, { projectId: contact.projectId, contactId: contact.id }) : linksToNowhere(publicUrl)),
    data,
  }
}
