import { createHash, type Hash } from 'node:crypto'
import { decodedBody } from '../../mime/raw/decode.ts'
import { headerOf } from '../../mime/raw/head.ts'
import { readStructured } from '../../mime/raw/header-text.ts'
import type { MimePart } from '../../mime/raw/parts.ts'
import type { Submission } from './read-submission.ts'

/**
 * SHA-256 of what makes a message the same as another one: From, recipients, Subject and decoded parts. A client that repeats a message gives it
 * a new date, new boundaries, and perhaps another encoding.
 */
export function submissionFingerprint({ raw, from, subject, tree }: Submission, recipients: string[]) {
  const hash = createHash('sha256').update(JSON.stringify([from.name, from.address, recipients.toSorted(), subject]))
  addPart(hash, raw, tree)
  return hash.digest('hex')
}

function addPart(hash: Hash, raw: Buffer, part: MimePart) {
  const { type, parameters, head, parts } = part
  const disposition = readStructured(headerOf(raw, head, 'content-disposition')).parameters
  hash.update(JSON.stringify([type, disposition.get('filename') ?? parameters.get('name') ?? '', parts.length]))
  for (const inner of parts) addPart(hash, raw, inner)
  if (!parts.length) hash.update(createHash('sha256').update(decodedBody(raw, part)).digest())
}
