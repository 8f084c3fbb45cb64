import { prepare, type Reference, type SourceField } from '../language/prepare.ts'
import type { TemplateSource } from './rendered-email.ts'

/** All variables of the recipient that a valid template uses. */
export const referencesIn = ({ subject, previewText, body }: TemplateSource): Reference[] => [
  ...inField('subject', prepare(subject, { html: false }).references),
  ...inField('previewText', prepare(previewText ?? '', { html: false }).references),
  ...inField('body', prepare(body, { html: true }).references),
]

const inField = (field: SourceField, references: Reference[]): Reference[] =>
  references.map(({ operands, ...reference }) => ({ ...reference, field, ...(operands && { operands: inField(field, operands) }) }))
