import { MalformedMessage } from '../../mime/raw/head.ts'
import { submissionFingerprint } from './fingerprint.ts'
import { readSubmission, type Submission } from './read-submission.ts'

export type ReadRequest = { chunks: Buffer[]; is8bit: boolean; recipients: string[] }

/** `fingerprint`: null without an idempotency key. */
export type SubmittedMessage = Omit<Submission, 'tree'> & { fingerprint: string | null }

/** Reads a message once, for everything that is asked of it. `malformed`: why it is refused; errors do not keep their class between threads. */
export function readSubmitted({ chunks, is8bit, recipients }: ReadRequest): SubmittedMessage | { malformed: string } {
  try {
    const { tree, ...submission } = readSubmission(chunks, is8bit)
    const needsFingerprint = submission.idempotencyKey !== undefined
    return { ...submission, fingerprint: needsFingerprint ? submissionFingerprint({ ...submission, tree }, recipients) : null }
  } catch (err) {
    if (err instanceof MalformedMessage) return { malformed: err.message }
    throw err
  }
}
