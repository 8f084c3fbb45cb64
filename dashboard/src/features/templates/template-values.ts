import type { Body, Template } from '@sterna/sdk'

/** The fields of the editor. An empty text is a field that is not set. */
export type TemplateValues = Pick<Template, 'name' | 'subject' | 'body' | 'type'> & {
  [Key in 'description' | 'previewText' | 'from' | 'fromName' | 'replyTo']: string
}
type Changes = Body<'PATCH /templates/{id}'>

export const templateValuesOf = ({
  name,
  subject,
  body,
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
  const differs = ([key]: [string, unknown]) => saved[key as keyof TemplateValues] !== values[key as keyof TemplateValues]
  return Object.fromEntries(Object.entries(sent).filter(differs))
}

/** Why this cannot be saved; undefined if it can. */
export function templateProblemOf({ name, subject, body }: TemplateValues, syntaxErrors: { message: string }[] = []): string | undefined {
  if (!name.trim()) return 'the template needs a name'
  if (!subject.trim()) return 'the template needs a subject'
  if (!body.trim()) return 'the template needs a body'
  return syntaxErrors.length > 0 ? 'the code has an error' : undefined
}

/** Fields whose change makes a new version; name and description are not part of an email. */
const VERSIONED = ['subject', 'previewText', 'body', 'type', 'from', 'fromName', 'replyTo'] as const

/** What saving does, in words. */
export function templateConsequenceOf(saved: TemplateValues, values: TemplateValues, version: number): string {
  const isLive = VERSIONED.some((key) => saved[key] !== values[key])
  return isLive
    ? `Saving creates version ${version + 1}. Every email sent with this template from then on uses it: by /v1/send, campaigns and workflows.`
    : 'Saving changes what you see here; the emails stay the same.'
}
