import { createHash, type Hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { MB } from '../../lib/text/units.ts'
import { decodedBody } from '../../mime/raw/decode.ts'
import { headerOf } from '../../mime/raw/head.ts'
import { readStructured } from '../../mime/raw/header-text.ts'
import { type MimePart, readMimeTree } from '../../mime/raw/parts.ts'
import type { Submission } from './read-submission.ts'

/** Bytes that are decoded and hashed before other work gets its turn. */
const TURN = MB

/**
 * SHA-256 of what makes a message the same as another one: From, recipients, Subject and decoded parts. A client that repeats a message gives it
 * a new date, new boundaries, and perhaps another encoding.
 */
export async function submissionFingerprint({ raw, from, subject }: Submission, recipients: string[]) {
  const hash = createHash('sha256').update(JSON.stringify([from.name, from.address, recipients.toSorted(), subject]))
  await addPart(hash, raw, readMimeTree(raw))
  return hash.digest('hex')
}

async function addPart(hash: Hash, raw: Buffer, part: MimePart) {
  const { type, parameters, head, parts } = part
  const disposition = readStructured(headerOf(head, 'content-disposition')).parameters
  hash.update(JSON.stringify([type, disposition.get('filename') ?? parameters.get('name') ?? '', parts.length]))
  for (const inner of parts) await addPart(hash, raw, inner)
  if (parts.length) return
  if (part.end - part.start > TURN) await nextTurn()
  hash.update(createHash('sha256').update(decodedBody(raw, part)).digest())
}
