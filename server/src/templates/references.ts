import { prepare, type Reference } from './language/prepare.ts'
import type { TemplateSource } from './rendered-email.ts'

/** All variables of the recipient that a valid template uses. */
export const referencesIn = ({ subject, previewText, body }: TemplateSource): Reference[] => [
  ...prepare(subject, { html: false }).references,
  ...prepare(previewText ?? '', { html: false }).references,
  ...prepare(body, { html: true }).references,
]
