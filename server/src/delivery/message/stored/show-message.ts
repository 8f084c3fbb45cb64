import type { Secrets } from '../../../lib/secrets.ts'
import { type ReadMessage, readMessage } from '../../../mime/raw/read-message.ts'
import { untrackHtml } from '../links/untrack.ts'

/** Reads a message for a person who looks at it. With `secrets` its HTML is without our tracking. */
export function showMessage(message: Buffer, secrets?: Secrets): ReadMessage {
  const read = readMessage(message)
  return secrets && read.html !== null ? { ...read, html: untrackHtml(secrets, read.html) } : read
}
