import type { Body, Template } from '@sterna/sdk'
import { ordered } from '../../design/document/design-json.ts'

/** The fields of the editor. An empty text is a field that is not set. */
export type TemplateValues = Pick<Template, 'name' | 'subject' | 'body' | 'design' | 'type'> & {
  [Key in 'description' | 'previewText' | 'from' | 'fromName' | 'replyTo']: string
}
type Changes = Body<'PATCH /templates/{id}'>

export const templateValuesOf = ({
  name,
  subject,
  body,
  design,
  type,
  description,
  previewText,
  from,
  fromName,
  replyTo,
}: Template): TemplateValues => ({
  name,
  subject,
  body,
  design: ordered(design),
  type,
  description: description ?? '',
  previewText: previewText ?? '',
  from: from ?? '',
  fromName: fromName ?? '',
  replyTo: replyTo ?? '',
})

const OPTIONAL = ['description', 'previewText', 'from', 'fromName', 'replyTo'] as const

/** Only what differs: a sender whose domain is no longer verified must not stop a change of the text. */
export function templateChangesOf(saved: TemplateValues, values: TemplateValues): Changes {
  const sent = { ...values, ...Object.fromEntries(OPTIONAL.map((key) => [key, values[key].trim() || null])) }
  const changed = Object.entries(sent).filter(([key]) => differs(saved, values, key as keyof TemplateValues))
  // The server renders the body of a design.
  return Object.fromEntries(changed.filter(([key]) => key !== 'body' || !values.design))
}

/** A design is compared by what it says: the editor makes a new object with every change. */
const differs = (saved: TemplateValues, values: TemplateValues, key: keyof TemplateValues) =>
  key === 'design' ? JSON.stringify(saved.design) !== JSON.stringify(values.design) : saved[key] !== values[key]

/** Why this cannot be saved; undefined if it can. */
export function templateProblemOf(
  { name, subject, body, design }: TemplateValues,
  syntaxErrors: { message: string }[] = [],
): string | undefined {
  if (!name.trim()) return 'the template needs a name'
  if (!subject.trim()) return 'the template needs a subject'
  if (!design && !body.trim()) return 'the template needs a body'
  return syntaxErrors.length > 0 ? `the ${design ? 'email' : 'code'} has an error` : undefined
}

/** Fields whose change makes a new version; name and description are not part of an email. */
const VERSIONED = ['subject', 'previewText', 'body', 'design', 'type', 'from', 'fromName', 'replyTo'] as const

/** The consequence of saving, in words. */
export function templateConsequenceOf(saved: TemplateValues, values: TemplateValues, version: number): string {
  const isLive = VERSIONED.some((key) => differs(saved, values, key))
  return isLive
    ? `Saving creates version ${version + 1}. Every email sent with this template from then on uses it: by /v1/send, campaigns and workflows.`
    : 'Saving changes what you see here; the emails stay the same.'
}
